"""How good and how readable a classifier is. Every metric is in percent.

Each metric accumulates: call `update` for every batch, `merge` to add what another process saw, and
`compute` at the end. Nothing depends on the order of the samples or on how they are batched.
"""

from qpopt_torch.metrics.accuracy import Accuracy
from qpopt_torch.metrics.alignment import FeatureAlignment
from qpopt_torch.metrics.contrastiveness import Contrastiveness
from qpopt_torch.metrics.correlation import Correlation
from qpopt_torch.metrics.diversity import Diversity
from qpopt_torch.metrics.grounding import structural_grounding
from qpopt_torch.metrics.independence import ClassIndependence

__all__ = [
    "Accuracy",
    "ClassIndependence",
    "Contrastiveness",
    "Correlation",
    "Diversity",
    "FeatureAlignment",
    "structural_grounding",
]
