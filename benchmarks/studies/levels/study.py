"""Levels, sets and "none of these": what they are worth, with and without ReLU and grounding.

Three tables of one kind of data: the heads beside each other, with how often their levels hold the
true class; the sets of all scores; and how well classes that no training sample showed are told
from those that it did.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.errors import BenchmarkError
from benchmarks.runs.judge import commit
from benchmarks.studies.levels.data import STUDIES, Study, batches_of
from benchmarks.studies.models.sources import Sources
from qpopt.io import replacing
from qpopt_torch import SparseClassifier, conformal, evaluate
from qpopt_torch.metrics.birds.parts import auroc
from qpopt_torch.sparse.sets.answers import answers_of
from qpopt_torch.sparse.sets.scores import SCORES

Rows = list[list[str]]

ALPHAS = (0.1, 0.05)
HEADS: Mapping[str, tuple[bool, bool]] = {
    "plain": (False, False),
    "grounding": (False, True),
    "ReLU": (True, False),
    "ReLU, grounding": (True, True),
}
"""Whether features below their mean count as 0, and whether the grounding loss is used."""


def main(
    data: str,
    seeds: Sequence[int],
    parts: Sequence[str],
    given: Mapping[str, Any],
    out: Path,
    tell: Callable[[str], None] = lambda text: None,
) -> str:
    """Measure on one kind of data and return tables, in the mean over seeds; they are also kept.

    What was measured before, of a seed and a part, is read and not measured again.

    Parameters
    ----------
    data
        One of `STUDIES`.
    seeds
        Each fixes everything random of one run.
    parts
        Some of `PARTS`.
    given
        The fields of `Sources`.
    out
        The results folder.
    tell
        Is given the tables of every seed as they come.
    """
    if data not in STUDIES:
        raise BenchmarkError(f"data must be one of {', '.join(STUDIES)}, not {data!r}.")
    if unknown := [part for part in parts if part not in PARTS]:
        raise BenchmarkError(f"There is no part {unknown[0]!r}; there are {', '.join(PARTS)}.")
    out.mkdir(parents=True, exist_ok=True)
    tables: dict[str, list[Rows]] = {part: [] for part in parts}
    for seed in seeds:
        run = Run(data, seed, Sources(**given), out)
        for part in parts:
            tables[part].append(run.table(part))
            tell(f"{data}, seed {seed}\n{_table(tables[part][-1])}\n")
    drawn = f"{data}, seeds {', '.join(map(str, seeds))}, {date.today()}, commit {commit()}."
    text = "\n\n".join([*(_table(averaged(tables[part])) for part in parts), drawn]) + "\n"
    with replacing(out / f"{data}.md") as stream:
        stream.write(text.encode())
    return text


class Run:
    """The tables of one seed; models are trained when the first table that needs them is made.

    Parameters
    ----------
    data, seed, sources
        As in `main`.
    folder
        Where the tables are kept.
    """

    def __init__(self, data: str, seed: int, sources: Sources, folder: Path) -> None:
        self.data, self.seed, self.sources, self.folder = data, seed, sources, folder
        self.models: dict[str, SparseClassifier] = {}

    def table(self, part: str) -> Rows:
        """Return a table, measured unless it was."""
        file = self.folder / f"{self.data}-{self.seed}-{part}.json"
        if not file.exists():
            rows = PARTS[part](self)
            with replacing(file) as stream:
                stream.write(json.dumps(rows, ensure_ascii=False).encode())
        kept: Rows = json.loads(file.read_text(encoding="utf-8"))
        return kept

    @cached_property
    def study(self) -> Study:
        """Data and trainings."""
        return STUDIES[self.data](self.seed, self.sources, self.folder)

    @cached_property
    def dense(self) -> nn.Module:
        """The dense network of all classes."""
        return self.study.trained(self.seed)

    def sparse(self, head: str) -> SparseClassifier:
        """Return the model with a head, one of `HEADS`."""
        if head not in self.models:
            self.models[head] = self.study.sparse(self.dense, self.seed, *HEADS[head])
        return self.models[head]


def averaged(tables: Sequence[Rows]) -> Rows:
    """Return a table of means, with standard deviations where there are several tables."""
    if len(tables) == 1:
        return tables[0]
    return [
        [_mean(cells) for cells in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)
    ]


def _mean(cells: Sequence[str]) -> str:
    """Return the mean of what some cells say; the first one where they say no numbers."""
    try:
        values = [float(cell) for cell in cells if cell != "–"]
    except ValueError:
        return cells[0]
    if len(set(cells)) == 1 or not values:
        return cells[0]
    digits = max(len(cell.partition(".")[2]) for cell in cells)
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def heads(run: Run) -> Rows:
    """Return how good and how readable heads are, and how often their levels hold the class."""
    study = run.study
    models = {"dense": run.dense} | {name: run.sparse(name) for name in HEADS}
    n_levels = study.counts["n_per_class"]
    levels = [f"level {level}" for level in range(1, n_levels + 1)]
    rows = [["head", "accuracy", "SID@5", "Contrastiveness", *levels]]
    train, test = batches_of(study.train), batches_of(study.test)
    for name, model in models.items():
        found = evaluate(model, test, train, progress=False).percent()
        figures = [found[key] for key in ("accuracy", "sid5", "contrastiveness")]
        shares: tuple[float, ...] = ()
        if isinstance(model, SparseClassifier):
            calibration = batches_of(study.calibration)
            shares = model.calibrate_levels(calibration, progress=False).shares[1:]
        cells = [f"{value:.1f}" for value in figures if value is not None]
        held = [f"{100 * share:.1f}" for share in shares] or ["–"] * n_levels
        rows.append([name, *cells, *held])
    return rows


def sets(run: Run) -> Rows:
    """Return what the sets of every score are worth, with features that are on or off."""
    study, model = run.study, run.sparse("ReLU")
    rows = [["score", "asked for", "coverage", "mean size", "alone", "farthest class", "coherence"]]
    for alpha in ALPHAS:
        for score in SCORES:
            made: Any = score
            predictor = conformal(model, batches_of(study.calibration), alpha, made, progress=False)
            found = predictor.evaluate(batches_of(study.test), study.similarity, progress=False)
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


def unknown(run: Run) -> Rows:
    """Return how well foreign samples are told from known ones, and what is turned away."""
    every, known = run.study, run.study.known()
    dense = known.trained(run.seed)
    model = known.sparse(dense, run.seed, *HEADS["ReLU"])
    x, y = every.test
    foreign = (y >= every.n_known).numpy()
    labels = torch.where(y < every.n_known, y, 0)
    answers, _ = answers_of(model, batches_of((x, labels)), title="", progress=False)
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
            model, batches_of(known.calibration), score="lac", abstain=alpha, progress=False
        )
        away = np.array([c is None for part in _parts(x) for c in predictor.decide(part)])
        turned = [f"{100 * away[one].mean():.1f}" for one in (~foreign, foreign)]
        rows.append(["decide", "", f"{alpha:g}", *turned])
    return rows


PARTS: Mapping[str, Callable[[Run], Rows]] = {"heads": heads, "sets": sets, "unknown": unknown}
"""The tables by their names."""


def _parts(x: Tensor) -> list[Tensor]:
    return [x[start : start + 256] for start in range(0, len(x), 256)]


def _table(rows: Rows) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
