"""Metrics: all that was measured of one model, to print and to keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from qpopt.io import AnyPath, replacing
from qpopt_torch.metrics.accuracy import Accuracy
from qpopt_torch.metrics.alignment import FeatureAlignment, RecognisedParts
from qpopt_torch.metrics.contrastiveness import Contrastiveness
from qpopt_torch.metrics.correlation import Correlation
from qpopt_torch.metrics.diversity import Diversity, PlainDiversity
from qpopt_torch.metrics.explanations.contrastive_pairs import ContrastivePairs
from qpopt_torch.metrics.explanations.deletion import OwnDrop
from qpopt_torch.metrics.explanations.local_alignment import LocalAlignment
from qpopt_torch.metrics.explanations.plausibility import Plausibility, PointingGame
from qpopt_torch.metrics.grounding import StructuralGrounding
from qpopt_torch.metrics.independence import ClassIndependence
from qpopt_torch.metrics.metric import Metric

METRICS: Mapping[str, type[Metric]] = {
    "accuracy": Accuracy,
    "sid5": Diversity,
    "diversity5": PlainDiversity,
    "class_independence": ClassIndependence,
    "contrastiveness": Contrastiveness,
    "correlation": Correlation,
    "structural_grounding": StructuralGrounding,
    "feature_alignment": FeatureAlignment,
    "part_alignment": RecognisedParts,
    "local_alignment": LocalAlignment,
    "contrastive_pairs": ContrastivePairs,
    "plausibility": Plausibility,
    "pointing": PointingGame,
    "deletion": OwnDrop,
}
"""The metric behind every value, in the order in which they are shown."""


@dataclass(frozen=True)
class Metrics:
    """How good and how readable a model is.

    Accuracy and what comes after the counts, `contrastive_pairs` apart, is from 0 to 1; the rest
    is in percent.

    Parameters
    ----------
    accuracy
        Share of samples whose largest logit is that of their class, from 0 to 1.
    n_features, n_per_class
        Features that any class uses, and how many a class uses on average.
    sid5, diversity5
        Whether the features of a decision look at different places; None without feature maps.
    class_independence, contrastiveness, correlation
        Whether the features are general, either on or off, and unlike each other.
    structural_grounding, feature_alignment
        Agreement with attributes that people have named; None without attributes.
    part_alignment
        Share of features that recognise one variant of one part; None where parts are not known.
    n_samples, n_train_samples
        Samples behind the accuracy and diversity, and behind the other metrics if these were
        taken from training samples (0 if not).
    local_alignment
        Agreement with attributes among similar classes; None without attributes.
    contrastive_pairs
        The share of class pairs that differ in one feature each; None for dense models.
    plausibility, pointing
        Whether the heat of decisions, and the maxima of their features, lie on what the picture is
        of; None without masks.
    deletion
        How much farther features fall than others where their maps are blurred; None unless asked.
    """

    accuracy: float
    n_features: int
    n_per_class: float
    sid5: float | None
    diversity5: float | None
    class_independence: float
    contrastiveness: float
    correlation: float
    structural_grounding: float | None
    feature_alignment: float | None
    part_alignment: float | None
    n_samples: int
    n_train_samples: int
    local_alignment: float | None = None
    contrastive_pairs: float | None = None
    plausibility: float | None = None
    pointing: float | None = None
    deletion: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the values as JSON can hold them; what is undefined is None."""
        return {
            key: None if isinstance(value, float) and isnan(value) else value
            for key, value in asdict(self).items()
        }

    def percent(self) -> dict[str, float | None]:
        """Return every metric in percent, as people read it; what is undefined is None."""
        values = self.to_dict()
        return {
            key: None if values[key] is None else metric.percent * values[key]
            for key, metric in METRICS.items()
        }

    def titled(self) -> dict[str, float | None]:
        """Return the same under the titles of the metrics."""
        return {METRICS[key].title: value for key, value in self.percent().items()}

    def save(self, path: AnyPath) -> None:
        """Write the values as a JSON file."""
        with replacing(path) as stream:
            stream.write(json.dumps(self.to_dict(), indent=1).encode())

    def __str__(self) -> str:
        values = self.percent()
        rows = [
            (
                METRICS[key].title,
                f"{value:.1f} %",
                f"  {METRICS[key].meaning}; {METRICS[key].better()} is better",
            )
            for key, value in values.items()
            if value is not None
        ]
        rows.insert(1, ("Features", str(self.n_features), "  that some class uses"))
        rows.insert(2, ("Features per class", f"{self.n_per_class:g}", ""))
        lines = [f"{title:<21}{value:>8}{said}" for title, value, said in rows]
        unknown = [METRICS[key].title for key, value in values.items() if value is None]
        if unknown:
            lines.append(f"What these need is not there: {', '.join(unknown)}.")
        return "\n".join(lines)
