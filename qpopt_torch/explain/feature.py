"""A feature: where it fires, which classes use it, and how its values are distributed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np

from qpopt_torch.evidence.gather import Evidence, require_evidence
from qpopt_torch.explain.explanation import Explanation
from qpopt_torch.explain.plotting import ACCENT, NEUTRAL, draw_feature, ink, plain, short, subplots
from qpopt_torch.metrics.contrastiveness import two_modes

SHOWN, ACROSS = 8, 4
BINS = 40


@dataclass(frozen=True, eq=False)
class Distribution:
    """The values of a feature over all samples, and the mixture of two Gaussians that fits them.

    Parameters
    ----------
    edges
        Edges of the bins.
    users, others
        Samples by bin: those of classes that use the feature, and the rest.
    modes
        Mean, deviation and weight of each of the two modes; empty if all values are the same.
    overlap
        Area that the two modes share, from 0 to 1; 1 if there is only one.
    """

    edges: tuple[float, ...]
    users: tuple[int, ...]
    others: tuple[int, ...]
    modes: tuple[tuple[float, float, float], ...]
    overlap: float

    def density(self, at: Any) -> Any:
        """Return the density of the mixture at some values."""
        x = np.asarray(at, dtype=np.float64)
        parts = [
            weight * np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
            for mean, std, weight in self.modes
        ]
        return np.sum(parts, axis=0) if parts else np.zeros_like(x)


@dataclass(frozen=True, eq=False, repr=False)
class FeatureExplanation(Explanation):
    """One selected feature.

    Parameters
    ----------
    evidence
        What was gathered.
    column
        Its column in the selection.
    classes
        The classes that use it, the one with the highest mean first.
    absent
        The classes that it speaks for by its absence, in the same order.
    distribution
        Its values.
    """

    evidence: Evidence
    column: int
    classes: tuple[int, ...]
    distribution: Distribution
    absent: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The name of the feature."""
        return self.evidence.names.features[self.column]

    def to_dict(self) -> dict[str, Any]:
        """Return the classes that use it, where it is highest and how it is distributed."""
        names, found = self.evidence.names, self.distribution
        return {
            "feature": names.selection[self.column],
            "name": self.title,
            "classes": self._means(self.classes),
            **({"absent": self._means(self.absent)} if self.absent else {}),
            "strongest": list(self.evidence.of_feature[self.column]),
            "distribution": {
                **asdict(found),
                "modes": [
                    dict(zip(("mean", "std", "weight"), mode, strict=True)) for mode in found.modes
                ],
            },
        }

    def summary(self) -> str:
        """Name the classes, and say how clearly the feature is on or off."""
        contrast = 100 * (1 - self.distribution.overlap)
        lines = [f"Used by {self._named(self.classes)}."]
        lines += [f"Must be absent in {self._named(self.absent)}."] if self.absent else []
        return "\n".join([*lines, f"Contrastiveness {contrast:.1f} %."])

    def _means(self, classes: tuple[int, ...]) -> list[dict[str, Any]]:
        names, column = self.evidence.names.classes, self.column
        return [{"class": names[c], "mean": self.evidence.mean(c, column)} for c in classes]

    def _named(self, classes: tuple[int, ...]) -> str:
        names = [self.evidence.names.classes[c] for c in classes]
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        return ", ".join(names[:6]) + more or "no class"

    def figure(self) -> tuple[Any, Any]:
        """Draw the samples where the feature is highest, and below them the distribution."""
        evidence, found = self.evidence, self.distribution
        shown = evidence.of_feature[self.column][:SHOWN]
        limits = evidence.heat_range
        n_rows = max(1, ceil(len(shown) / ACROSS))
        fig, axes = subplots(n_rows + 1, ACROSS, 1.9, 2.0)
        for axis in axes[:n_rows].flat:
            axis.axis("off")
        for axis, index in zip(axes[:n_rows].flat, shown, strict=False):
            sample = evidence.samples[index]
            axis.axis("on")
            name = short(evidence.names.classes[sample.label], 22)
            label = f"{name} {sample.values[self.column]:+.1f}"
            draw_feature(axis, sample, limits, self.column, label)
        grid = axes[-1, 0].get_gridspec()
        for axis in axes[-1]:
            axis.remove()
        bottom = fig.add_subplot(grid[-1, :])
        edges = np.asarray(found.edges)
        widths = np.diff(edges)
        below = np.zeros(len(widths))
        for counts, colour, label in (
            (found.others, NEUTRAL, "others"),
            (found.users, ACCENT, "classes that use it"),
        ):
            bottom.bar(edges[:-1], counts, widths, below, align="edge", color=colour, label=label)
            below += counts
        at = np.linspace(edges[0], edges[-1], 200)
        bottom.plot(at, found.density(at) * below.sum() * widths[0], color=ink(), label="two modes")
        bottom.set_xlabel("value, in deviations of the dense model", fontsize=8)
        bottom.set_ylabel("samples", fontsize=8)
        bottom.legend(fontsize=7, frameon=False)
        fig.suptitle(plain(self.title), fontsize=11)
        return fig, [*axes[:n_rows].flat, bottom]


def explain_feature(evidence: Evidence, d: int | str) -> FeatureExplanation:
    """Explain a selected feature, given by its index in the dense model or by its name.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> layers = nn.Conv2d(3, 12, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    >>> model = nn.Sequential(*layers, nn.Linear(12, 4))
    >>> birds = qpopt_torch.DrawnBirds(4, 2, size=32, pairs=1.0)
    >>> loader = torch.utils.data.DataLoader(birds, 8)
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> evidence = qpopt_torch.explain.gather(sparse, loader, progress=False)
    >>> told = qpopt_torch.explain.explain_feature(evidence, int(sparse.selection[0]))
    >>> sum(told.distribution.users) + sum(told.distribution.others)
    8
    """
    require_evidence(evidence, "explain_feature", sums=False)
    column = evidence.names.feature_column(d)
    means = np.nan_to_num(evidence.class_means[:, column], nan=-np.inf)
    order = np.argsort(-means, kind="stable")
    # Weights are no signs: there, all classes with one use the feature.
    signed = evidence.weighing is None or evidence.weighing.signed
    signs = evidence.signs[:, column] if signed else evidence.assignment[:, column].astype(np.int8)
    users, absent = (tuple(order[signs[order] == sign].tolist()) for sign in (1, -1))
    return FeatureExplanation(evidence, column, users, distribution_of(evidence, column), absent)


def distribution_of(evidence: Evidence, column: int) -> Distribution:
    """Return how the values of a feature, given by its column, are distributed."""
    values = evidence.values[:, column].astype(np.float64)
    edges = np.histogram_bin_edges(values, BINS)
    uses = evidence.assignment[evidence.labels, column]
    if evidence.weighing is not None and evidence.weighing.signed:
        uses = evidence.signs[evidence.labels, column] > 0
    users, others = (np.histogram(values[mask], edges)[0] for mask in (uses, ~uses))
    fitted = two_modes(values)
    modes: tuple[tuple[float, float, float], ...] = ()
    if fitted is not None:
        low, high, weight = fitted
        modes = ((low.mean, low.stdev, weight), (high.mean, high.stdev, 1 - weight))
    return Distribution(
        tuple(edges.tolist()),
        tuple(users.tolist()),
        tuple(others.tolist()),
        modes,
        1.0 if fitted is None else fitted[0].overlap(fitted[1]),
    )
