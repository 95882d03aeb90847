"""A model that looks at the background, found out and steered away from it.

You will see the accuracy of a network on the backgrounds that it knows and on others, which of its
features follow the background, how much better it does without them, and a report in which such
features look past the bird. In most training pictures every species has its own colour of
background; in the test any colour comes with any species, so a model that looked at the background
fails there. There are two remedies, and neither needs new data: to exclude these features, or to
ask for features that look at the middle of the picture (`bias="center"`). Nothing is trained after
the selection: what gets better does so by the choice of features alone.

    python examples/03_steering.py --out steering
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch.utils.data import ConcatDataset, DataLoader

import qpopt
import qpopt_torch
from qpopt_torch.network.local_network import local_network

COUNTS = {"n_select": 20, "n_per_class": 5}
LAMBDAS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Weights of the bias towards the middle."""
FAIR = 0.4
"""Training pictures with any background, as a share of those with the species' own."""
ROUNDS = 4
"""How often features are excluded at most."""
MOVED = 0.4
"""Deviations by which a feature moves with the background that makes it a feature of that."""


def off_the_bird(
    sparse: qpopt_torch.SparseClassifier, birds: qpopt_torch.DrawnBirds
) -> dict[int, float]:
    """Return how far features move when nothing but the background changes, if they do."""
    n, step = birds.n_per_species, max(1, birds.n_per_species // 5)
    pictures = range(0, len(birds), step)
    as_they_are = torch.stack([birds[i][0] for i in pictures])
    elsewhere = torch.stack([birds.elsewhere(i, (i + n) % len(birds)).image for i in pictures])
    sparse.eval()
    with torch.no_grad():
        here, there = (sparse.features(x).features for x in (as_they_are, elsewhere))
    moved = (here - there).abs().mean(dim=0) / here.std(dim=0).clamp_min(1e-9)
    pairs = zip(sparse.selection.tolist(), moved.tolist(), strict=True)
    return {d: value for d, value in pairs if value > MOVED}


def draw(path: Path, accuracies: Sequence[tuple[float, float]], excluded: float, text: str) -> None:
    """Draw the accuracies on training and test pictures over the weight of the bias."""
    figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
    places = range(len(LAMBDAS))
    for values, colour, name in zip(
        zip(*accuracies, strict=True),
        ("#9aa5b1", "#d9480f"),
        ("training", "test, any background"),
        strict=True,
    ):
        axis.plot(places, [100 * value for value in values], "o-", color=colour, label=name)
    axis.axhline(100 * excluded, color="#1f2933", linewidth=1, linestyle=(0, (4, 3)))
    axis.annotate(text, (0, 100 * excluded), (0, 4), textcoords="offset points", fontsize=8)
    axis.set_xticks(places, [f"{value:g}" for value in LAMBDAS])
    axis.set_xlabel("weight λ of the bias towards the middle of the picture")
    axis.set_ylabel("accuracy in percent")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Train on misleading backgrounds, find the features that follow them, and do without."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--epochs", type=int, default=8)
    arguments.add_argument("--pictures", type=int, default=70, help="of every species")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--time-limit", type=float, default=5, help="of a solve, in seconds")
    arguments.add_argument("--out", type=Path, default=Path("steering"))
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)

    kind = {"background": "by_species", "seed": given.seed}
    birds = qpopt_torch.DrawnBirds(n_per_species=given.pictures, **kind)
    # A network that was shown nothing else would not know birds at all: some pictures are fair.
    n_fair = max(1, int(FAIR * given.pictures))
    fair = qpopt_torch.DrawnBirds(n_per_species=n_fair, seed=given.seed)
    n_test = max(1, given.pictures // 4)
    others = qpopt_torch.DrawnBirds(n_per_species=n_test, split="test", **kind)
    shown = ConcatDataset([birds, fair])
    train, test = DataLoader(shown, 64, shuffle=True), DataLoader(others, 100)
    dense = local_network(birds.n_species)
    schedule = qpopt_torch.DenseTraining(
        epochs=given.epochs,
        lr=0.1,
        head_lr=0.1,
        decay_every=max(1, given.epochs // 4),
        beta=0.25,
        dropout=0.1,
        seed=given.seed,
    )
    qpopt_torch.train_dense(dense, train, schedule)
    statistics = qpopt_torch.collect(dense, train, class_names=birds.class_names)

    def chosen(**options: object) -> qpopt_torch.SparseClassifier:
        """Return the sparse model of the best selection under some options, not fine-tuned."""
        instance = statistics.instance(**COUNTS, **options)
        solution = qpopt.solve(
            instance, method="search", time_limit=given.time_limit, seed=given.seed
        )
        return qpopt_torch.SparseClassifier.from_solution(dense, solution, statistics)

    def measured(sparse: qpopt_torch.SparseClassifier) -> tuple[float, float]:
        return qpopt_torch.accuracy(sparse, train), qpopt_torch.accuracy(sparse, test)

    plain = chosen()
    before = measured(plain)
    print(f"Dense: {100 * qpopt_torch.accuracy(dense, test):.1f} % on shuffled backgrounds.")
    print(f"Sparse: {100 * before[0]:.1f} % in training, {100 * before[1]:.1f} % shuffled.")
    report = plain.report(
        given.out / "report.html",
        test,
        to_image=((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        title="Birds with misleading backgrounds",
    )
    print(f"The report, {report}, shows features whose heat lies beside the bird.")

    excluded: dict[int, float] = {}
    sparse = plain
    for _ in range(ROUNDS):
        found = off_the_bird(sparse, birds)
        if not found or statistics.n_features - len(excluded) - len(found) < COUNTS["n_select"]:
            break
        excluded |= found
        sparse = chosen(exclude=sorted(excluded))
    after = measured(sparse)
    print(f"Without the {len(excluded)} features that follow the background, ", end="")
    print(f"{sorted(excluded)}: {100 * after[1]:.1f} % shuffled.")

    curve = [measured(chosen(bias="center", bias_scale=value)) for value in LAMBDAS]
    for value, (_, accuracy) in zip(LAMBDAS, curve, strict=True):
        print(f"With bias='center' and λ = {value:g}: {100 * accuracy:.1f} % shuffled.")
    figure = given.out / "steering.png"
    draw(figure, curve, after[1], f"{len(excluded)} features excluded, any background")
    print(f"The curve is {figure}.")


if __name__ == "__main__":
    main()
