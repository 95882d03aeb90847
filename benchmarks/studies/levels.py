"""Levels, sets and "none of these": what they are worth, with and without ReLU and grounding.

Three tables of one kind of data: the heads beside each other, with how often their levels hold the
true class; the sets of all scores; and how well classes that no training sample showed are told
from those that it did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.runs.judge import commit
from qpopt.io import replacing
from qpopt_torch import (
    DenseTraining,
    DrawnBirds,
    FineTuning,
    GroundingParams,
    SparseClassifier,
    conformal,
    evaluate,
    sparsify,
    train_dense,
)
from qpopt_torch.metrics.birds.parts import auroc
from qpopt_torch.network.local_network import local_network
from qpopt_torch.sparse.sets.answers import answers_of
from qpopt_torch.sparse.sets.scores import SCORES

Pair = tuple[Tensor, Tensor]
Rows = list[list[str]]

ALPHAS = (0.1, 0.05)
HEADS: Mapping[str, tuple[bool, bool]] = {
    "plain": (False, False),
    "grounding": (False, True),
    "ReLU": (True, False),
    "ReLU, grounding": (True, True),
}
"""Whether features below their mean count as 0, and whether the grounding loss is used."""


@dataclass(frozen=True, eq=False)
class Study:
    """Data, a network and how both are trained.

    Parameters
    ----------
    train, calibration, test
        Inputs and labels; the last two are as large as each other.
    network
        Makes an untrained network for so many classes.
    dense, tuning
        The trainings.
    counts
        `n_select` and `n_per_class`.
    similarity
        How similar classes are.
    n_known
        How many classes, the first ones, are shown in training where the others are to be told.
    """

    train: Pair
    calibration: Pair
    test: Pair
    network: Callable[[int], nn.Module]
    dense: DenseTraining
    tuning: FineTuning
    counts: dict[str, Any]
    similarity: NDArray[np.float64]
    n_known: int

    def known(self) -> Study:
        """Return the same of the known classes alone."""
        parts = [_of(pair, lambda y: y < self.n_known) for pair in (self.train, self.calibration)]
        return replace(self, train=parts[0], calibration=parts[1])

    def trained(self, seed: int) -> nn.Module:
        """Return a trained dense network."""
        torch.manual_seed(seed)
        model = self.network(int(self.train[1].max()) + 1)
        train_dense(model, _loader(self.train, True), self.dense, progress=False)
        return model

    def sparse(self, model: nn.Module, seed: int, relu: bool, grounded: bool) -> SparseClassifier:
        """Return a sparse classifier of a dense network."""
        grounding = GroundingParams(epochs=round(0.75 * self.tuning.epochs)) if grounded else None
        return sparsify(
            model,
            _loader(self.train, True),
            **self.counts,
            head={"relu": relu},
            training=replace(self.tuning, grounding=grounding),
            solve={"time_limit": 20, "gap": 0.004, "seed": seed},
            progress=False,
        )


def digits(seed: int) -> Study:
    """Return the handwritten digits of scikit-learn; 8 and 9 are those to be told."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    x = torch.tensor(images[order], dtype=torch.float32).reshape(-1, 1, 8, 8) / 8 - 1
    y = torch.tensor(labels[order])
    means = np.stack([images[labels == c].mean(axis=0) for c in range(10)])

    def network(n_classes: int) -> nn.Module:
        layers: list[nn.Module] = []
        for before, after in ((1, 16), (16, 32), (32, 64)):
            convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
        pooled = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, n_classes)
        return nn.Sequential(*layers, *pooled)

    return Study(
        (x[:1000], y[:1000]),
        (x[1000:1400], y[1000:1400]),
        (x[1400:], y[1400:]),
        network,
        DenseTraining(epochs=12, lr=2e-2, head_lr=5e-2, decay_every=4, seed=seed),
        FineTuning(epochs=12, decay_every=4, seed=seed),
        {"n_select": 16, "n_per_class": 4},
        _cosines(means - means.mean(axis=0)),
        8,
    )


def birds(seed: int) -> Study:
    """Return drawn birds, every species with a twin; the last four are those to be told."""
    kind: dict[str, Any] = {"pairs": 1.0, "seed": seed}
    shown = DrawnBirds(n_per_species=80, occlusion=0.1, **kind)
    others = DrawnBirds(n_per_species=40, split="test", **kind)
    x, y = _all(others)
    first = torch.arange(len(y)) % 2 == 0
    attributes = np.asarray(shown.attributes, dtype=np.float64)
    return Study(
        _all(shown),
        (x[first], y[first]),
        (x[~first], y[~first]),
        local_network,
        DenseTraining(
            epochs=14, lr=0.1, head_lr=0.1, decay_every=3, beta=0.25, dropout=0.1, seed=seed
        ),
        FineTuning(epochs=14, decay_every=3, lr=0.0128, beta=0.2, seed=seed),
        {"n_select": 20, "n_per_class": 5},
        _cosines(attributes),
        16,
    )


STUDIES: Mapping[str, Callable[[int], Study]] = {"digits": digits, "birds": birds}


def main(data: str, seed: int, out: Path) -> str:
    """Measure on one kind of data and return three tables, which are also kept.

    Parameters
    ----------
    data
        One of `STUDIES`.
    seed
        Fixes everything random.
    out
        The results folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    study = STUDIES[data](seed)
    dense = study.trained(seed)
    models = {name: study.sparse(dense, seed, *kind) for name, kind in HEADS.items()}
    parts = [
        _table(heads(study, dense, models)),
        _table(sets(study, models["ReLU"])),
        _table(unknown(study.known(), study, seed)),
        f"{data}, seed {seed}, {date.today()}, commit {commit()}.",
    ]
    text = "\n\n".join(parts) + "\n"
    with replacing(out / f"{data}-{seed}.md") as stream:
        stream.write(text.encode())
    return text


def heads(study: Study, dense: nn.Module, models: Mapping[str, SparseClassifier]) -> Rows:
    """Return how good and how readable heads are, and how often their levels hold the class."""
    n_levels = study.counts["n_per_class"]
    levels = [f"level {level}" for level in range(1, n_levels + 1)]
    rows = [["head", "accuracy", "SID@5", "Contrastiveness", *levels]]
    train, test = _loader(study.train), _loader(study.test)
    for name, model in ({"dense": dense} | dict(models)).items():
        found = evaluate(model, test, train, progress=False).percent()
        figures = [found[key] for key in ("accuracy", "sid5", "contrastiveness")]
        shares: tuple[float, ...] = ()
        if isinstance(model, SparseClassifier):
            shares = model.calibrate_levels(_loader(study.calibration), progress=False).shares[1:]
        cells = [f"{value:.1f}" for value in figures if value is not None]
        held = [f"{100 * share:.1f}" for share in shares] or ["–"] * n_levels
        rows.append([name, *cells, *held])
    return rows


def sets(study: Study, model: SparseClassifier) -> Rows:
    """Return what the sets of every score are worth."""
    rows = [["score", "asked for", "coverage", "mean size", "alone", "farthest class", "coherence"]]
    for alpha in ALPHAS:
        for score in SCORES:
            made: Any = score
            predictor = conformal(model, _loader(study.calibration), alpha, made, progress=False)
            found = predictor.evaluate(_loader(study.test), study.similarity, progress=False)
            worst = found.class_coverage[found.worst_class]
            rows.append(
                [
                    score,
                    f"{100 * (1 - alpha):g}",
                    f"{100 * found.coverage:.1f}",
                    f"{found.mean_size:.2f}",
                    f"{100 * found.singletons:.1f}",
                    "–" if worst is None else f"{100 * worst:.1f}",
                    "–" if found.coherence is None else f"{found.coherence:.2f}",
                ]
            )
    return rows


def unknown(known: Study, every: Study, seed: int) -> Rows:
    """Return how well foreign samples are told from known ones, and what is turned away."""
    dense = known.trained(seed)
    model = known.sparse(dense, seed, *HEADS["ReLU"])
    x, y = every.test
    foreign = (y >= every.n_known).numpy()
    labels = torch.where(y < every.n_known, y, 0)
    answers, _ = answers_of(model, _loader((x, labels)), title="", progress=False)
    with torch.no_grad():
        shares = torch.cat([dense(part).softmax(1).amax(1) for part in _parts(x)])
    own = answers.evidence[np.arange(len(y)), answers.predicted]
    scores = {
        "evidence": own,
        "max-softmax, sparse": answers.probabilities.max(axis=1),
        "max-softmax, dense": shares.double().numpy(),
    }
    rows = [["told by", "AUROC", "α₀", "known turned away", "foreign turned away"]]
    known_ones = np.stack([~foreign], axis=1)
    for name, values in scores.items():
        area = float(auroc(values[:, None], known_ones)[0, 0])
        rows.append([name, f"{100 * area:.1f}", "", "", ""])
    for alpha in ALPHAS:
        predictor = conformal(
            model, _loader(known.calibration), score="lac", abstain=alpha, progress=False
        )
        away = np.array([c is None for part in _parts(x) for c in predictor.decide(part)])
        turned = [f"{100 * away[one].mean():.1f}" for one in (~foreign, foreign)]
        rows.append(["decide", "", f"{alpha:g}", *turned])
    return rows


def _parts(x: Tensor) -> list[Tensor]:
    return [x[start : start + 256] for start in range(0, len(x), 256)]


def _loader(pair: Pair, shuffle: bool = False) -> DataLoader[Any]:
    return DataLoader(TensorDataset(*pair), 64, shuffle=shuffle)


def _of(pair: Pair, chosen: Callable[[Tensor], Tensor]) -> Pair:
    mask = chosen(pair[1])
    return pair[0][mask], pair[1][mask]


def _all(data: DrawnBirds) -> Pair:
    samples = [data[i] for i in range(len(data))]
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])


def _cosines(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines: NDArray[np.float64] = units @ units.T
    return cosines


def _table(rows: Rows) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
