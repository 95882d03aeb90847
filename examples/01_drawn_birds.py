"""Drawn birds, each species recognised by 5 of 20 shared features that are parts of birds.

You will see how long each step takes, the accuracy before and after, how far the selection can be
from the best one at most, how many features turned out to be parts of birds, and two species told
apart by what they differ in. The report shows it in pictures. A small network is trained on birds
of which everything is known, so that all of it can be checked. Takes less than three minutes on two
cores:

    python examples/01_drawn_birds.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import torch
from torch.utils.data import DataLoader

import qpopt_torch
from qpopt_torch.evidence.meaning import Meaning, meaning_of
from qpopt_torch.network.local_network import local_network


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Print what a stage took."""
    began = perf_counter()
    yield
    print(f"{name:<24}{perf_counter() - began:6.1f} s", flush=True)


def telling_twins(
    sparse: qpopt_torch.SparseClassifier, birds: qpopt_torch.DrawnBirds, meaning: Meaning
) -> str:
    """Return in words what tells two species apart that differ in one part only."""
    pair = meaning.telling[0]
    names = [sparse.feature_name(d) for d in sparse.selection]
    own, other = (
        ", ".join(names[j] for j in pair.features if sparse.assignment[c, j])
        for c in (pair.first, pair.second)
    )
    first, second = birds.class_names[pair.first], birds.class_names[pair.second]
    return f"{first} and {second} differ in the {pair.part}: {own} against {other}"


def main() -> None:
    """Train, sparsify, name the features and print what came of it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--epochs", type=int, default=14, help="of the dense network")
    arguments.add_argument("--fine-tuning", type=int, default=14, help="epochs of the sparse one")
    arguments.add_argument("--pictures", type=int, default=100, help="of every species")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--time-limit", type=float, default=20, help="of a solve, in seconds")
    arguments.add_argument("--report", type=Path, default=Path("birds.html"))
    given = arguments.parse_args()
    given.report.parent.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    began = perf_counter()

    # Every species has a twin, so no part can be left out of account; and as a leaf hides one part
    # or another in training, none can be all that counts.
    kind = {"pairs": 1.0, "seed": given.seed}
    with stage("draw birds"):
        birds = qpopt_torch.DrawnBirds(n_per_species=given.pictures, occlusion=0.1, **kind)
        n_test = max(1, given.pictures // 4)
        others = qpopt_torch.DrawnBirds(n_per_species=n_test, split="test", **kind)
        for pictures in (birds, others):
            for number in range(len(pictures)):
                pictures[number]
    train, test = DataLoader(birds, 64, shuffle=True), DataLoader(others, 100)

    # A feature that stands for a part is absent or present: with relu, what is below its mean
    # counts as nothing, though not from the first step of the fine-tuning on.
    common = {"algorithm": "adamw", "annealing": "cosine", "weight_decay": 0.02}
    common["seed"] = given.seed
    dense = local_network(birds.n_species, start=-1.0)
    with stage("train the network"):
        qpopt_torch.train_dense(
            dense,
            train,
            qpopt_torch.DenseTraining(
                epochs=given.epochs, lr=6e-3, head_lr=1e-2, beta=0.1, dropout=0.1, **common
            ),
        )
    with stage("select and fine-tune"):
        sparse = qpopt_torch.sparsify(
            dense,
            train,
            n_select=20,
            n_per_class=5,
            head={"relu": True},
            training=qpopt_torch.FineTuning(
                epochs=given.fine_tuning, lr=3e-3, beta=0.3, leaking=0.7, **common
            ),
            class_names=birds.class_names,
            solve={"time_limit": given.time_limit, "gap": 0.004, "seed": given.seed},
        )
    with stage("measure"):
        before, after = (qpopt_torch.evaluate(m, test, train) for m in (dense, sparse))
        meaning = meaning_of(sparse, others)
    sparse.rename_features(meaning.names(sparse.selection))
    with stage("write the report"):
        path = sparse.report(
            given.report,
            test,
            train_loader=train,
            dense=before,
            to_image=((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
            title="Drawn birds",
        )

    print(f"{'all together':<24}{perf_counter() - began:6.1f} s")
    solution = sparse.solution
    assert solution is not None
    gap = solution.gap
    proof = "nothing is proven" if gap is None else f"at most {100 * gap:.2f} % below the optimum"
    print(
        f"\nAccuracy: {100 * after.accuracy:.1f} % with 5 of 20 features a species; "
        f"{100 * before.accuracy:.1f} % of the dense network with {dense[-1].in_features}.\n"
        f"Proof: the selection is {solution.status}, {proof}.\n"
        f"Meaning: {meaning}\n"
        f"Readable: SID@5 {after.sid5:.1f} % (features of a decision look at different places), "
        f"Contrastiveness {after.contrastiveness:.1f} % (each is on or off); high is good.\n"
        f"Twins: {telling_twins(sparse, others, meaning)}. See them in {path}."
    )


if __name__ == "__main__":
    main()
