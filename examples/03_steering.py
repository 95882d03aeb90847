"""A model that looks at the background, found out and steered away from it.

You will see the accuracy of a model on the backgrounds that it knows and on others, how far its
features move with the background, and how much better it does without those that move most. Two
networks are put side by side. One has seen birds before backgrounds of every kind. The other was
trained where each species has a background of its own colour, as where a zoo keeps each in a cage
of its own, and learned little but colours. All pictures that the sparse model is made from come
from there, so features of backgrounds fit the species as well as features of birds do. It takes
both, which the report shows. In the test any background comes with any species, and a model that
looks at it fails.

There are two remedies, and neither needs new data: to exclude the features that move when nothing
but the background changes, or to ask for features that look at the middle of the picture
(`bias="center"`), more and more. Nothing is trained after the selection: what gets better does so
by the choice of features alone.

    python examples/03_steering.py --out steering
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader

import qpopt
import qpopt_torch
from qpopt_torch.network.local_network import local_network

COUNTS = {"n_select": 20, "n_per_class": 5}
LAMBDAS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Weights of the bias towards the middle."""
MOVED = 0.5
"""Deviations: features that move farther with the background, in the mean, are excluded."""
INK = {"light": ("#1f2933", "#9aa5b1", "#d9480f"), "dark": ("#e4e7eb", "#7b8794", "#ff922b")}
"""Colours of words, of the curve of training and of that of the test, by the page around them."""


class SideBySide(nn.Module):
    """The maps of two networks, one after the other.

    Parameters
    ----------
    first, second
        What makes them.
    """

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> Tensor:
        """Return the channels of both."""
        return torch.cat([self.first(x), self.second(x)], dim=1)


def trained(birds: qpopt_torch.DrawnBirds, epochs: int, seed: int) -> nn.Sequential:
    """Return a small network that was trained on some pictures."""
    network = local_network(birds.n_species, n_features=48)
    schedule = qpopt_torch.DenseTraining(
        epochs=epochs,
        lr=6e-3,
        head_lr=1e-2,
        algorithm="adamw",
        annealing="cosine",
        weight_decay=0.02,
        beta=0.1,
        dropout=0.1,
        seed=seed,
    )
    qpopt_torch.train_dense(network, DataLoader(birds, 64, shuffle=True), schedule)
    return network


def joined(first: nn.Sequential, second: nn.Sequential) -> nn.Sequential:
    """Return a network with the features of two, whose logits are the mean of theirs."""
    heads = first[-1], second[-1]
    head = nn.Linear(sum(one.in_features for one in heads), heads[0].out_features)
    with torch.no_grad():
        head.weight.copy_(torch.cat([one.weight for one in heads], dim=1) / 2)
        head.bias.copy_(sum(one.bias for one in heads) / 2)
    maps = SideBySide(first[:-3], second[:-3])
    return nn.Sequential(maps, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head).eval()


def moved_by_background(
    dense: torch.nn.Module, birds: qpopt_torch.DrawnBirds
) -> NDArray[np.float64]:
    """Return how far every feature moves, in deviations, when only the background changes."""
    n = birds.n_per_species
    pictures = range(0, len(birds), max(1, n // 5))
    half_way = n * (birds.n_species // 2)  # the background of a species of quite another colour
    others = ((i, (i + half_way) % len(birds)) for i in pictures)
    with torch.no_grad():
        here = dense[:-1](torch.stack([birds[i][0] for i in pictures])).double()
        there = dense[:-1](torch.stack([birds.elsewhere(*pair).image for pair in others])).double()
    moved = (here - there).abs().mean(dim=0) / here.std(dim=0).clamp_min(1e-9)
    return moved.numpy()


def draw(
    folder: Path, accuracies: Sequence[tuple[float, float]], excluded: float, text: str
) -> list[Path]:
    """Draw the accuracies over the weight of the bias, for light and for dark pages."""
    paths = []
    for scheme, (ink, pale, bright) in INK.items():
        figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
        places = range(len(LAMBDAS))
        for values, colour, name in zip(
            zip(*accuracies, strict=True),
            (pale, bright),
            ("training: each species before its own background", "test: any background"),
            strict=True,
        ):
            axis.plot(places, [100 * value for value in values], "o-", color=colour, label=name)
        axis.axhline(100 * excluded, color=ink, linewidth=1, linestyle=(0, (4, 3)))
        place = (0, 100 * excluded)
        axis.annotate(text, place, (0, 5), textcoords="offset points", fontsize=8, color=ink)
        axis.set_xticks(places, [f"{value:g}" for value in LAMBDAS])
        axis.set_xlabel("weight λ of the bias towards the middle of the picture", color=ink)
        axis.set_ylabel("accuracy in percent", color=ink)
        axis.set_ylim(0, 103)
        axis.tick_params(colors=ink)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(ink)
        axis.legend(frameon=False, fontsize=8, labelcolor=ink)
        paths.append(folder / f"steering-{scheme}.svg")
        figure.savefig(paths[-1], transparent=True, metadata={"Date": None})
        plt.close(figure)
    return paths


def main() -> None:
    """Train on misleading backgrounds, find the features that follow them, and do without."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--epochs", type=int, default=10, help="of the network that sees any background"
    )
    arguments.add_argument("--misled", type=int, default=4, help="epochs of the other")
    arguments.add_argument("--pictures", type=int, default=40, help="of every species")
    arguments.add_argument("--seconds", type=float, default=1, help="for each selection")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--out", type=Path, default=Path("steering"))
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)

    misleading = {"background": "by_species", "seed": given.seed}
    birds = qpopt_torch.DrawnBirds(n_per_species=given.pictures, **misleading)
    others = qpopt_torch.DrawnBirds(
        n_per_species=max(1, given.pictures // 3), split="test", **misleading
    )
    fair = qpopt_torch.DrawnBirds(n_per_species=given.pictures, seed=given.seed)
    train, test = DataLoader(birds, 64), DataLoader(others, 100)
    dense = joined(
        trained(fair, given.epochs, given.seed), trained(birds, given.misled, given.seed)
    )
    statistics = qpopt_torch.collect(dense, train, class_names=birds.class_names)
    moved = moved_by_background(dense, birds)

    def chosen(**options: object) -> qpopt_torch.SparseClassifier:
        """Return the sparse model of the best selection under some options, not fine-tuned."""
        instance = statistics.instance(**COUNTS, **options)
        solution = qpopt.solve(
            instance, method="search", time_limit=given.seconds, seed=given.seed, progress=False
        )
        return qpopt_torch.SparseClassifier.from_solution(dense, solution, statistics).eval()

    def measured(model: torch.nn.Module) -> tuple[float, float]:
        """Return the accuracy on training and test pictures."""
        return tuple(qpopt_torch.accuracy(model, loader) for loader in (train, test))

    def told(name: str, accuracies: tuple[float, float], used: NDArray[np.int64]) -> None:
        own, any_background = (100 * value for value in accuracies)
        print(
            f"{name:<28}{own:5.1f} % in training, {any_background:5.1f} % with any background; "
            f"features move by {moved[used].mean():.2f} deviations with it"
        )

    told("Dense", measured(dense), np.arange(len(moved)))
    plain = chosen()
    told("Sparse", measured(plain), plain.selection)
    most = len(moved) - COUNTS["n_select"]
    worst = [d for d in np.argsort(-moved)[:most].tolist() if moved[d] > MOVED]
    ranks = {d: rank for rank, d in enumerate(worst, 1) if d in plain.selection}
    plain.rename_features({d: f"background {rank}" for d, rank in ranks.items()})
    report = plain.report(
        given.out / "report.html",
        test,
        to_image=((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        title="Birds with misleading backgrounds",
    )

    without = chosen(exclude=sorted(worst))
    after = measured(without)
    told(f"{len(worst)} features excluded", after, without.selection)
    curve = []
    for value in LAMBDAS:
        biased = chosen(bias="center" if value else "none", bias_scale=value)
        curve.append(measured(biased))
        told(f"bias='center', λ = {value:g}", curve[-1], biased.selection)
    figures = draw(given.out, curve, after[1], f"test, {len(worst)} features excluded")
    print(f"Where features look: {report}. The curve: {', '.join(map(str, figures))}.")


if __name__ == "__main__":
    main()
