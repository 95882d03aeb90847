"""How good and how readable a classifier is. Accuracy is from 0 to 1, the rest in percent.

Each metric accumulates: call `update` for every batch, `merge` to add what another process saw, and
`compute` at the end. Nothing depends on the order of the samples or on how they are batched.
"""

from qpopt_torch.metrics.accuracy import Accuracy
from qpopt_torch.metrics.alignment import FeatureAlignment
from qpopt_torch.metrics.contrastiveness import Contrastiveness
from qpopt_torch.metrics.correlation import Correlation
from qpopt_torch.metrics.diversity import Diversity, PlainDiversity
from qpopt_torch.metrics.grounding import StructuralGrounding, structural_grounding
from qpopt_torch.metrics.independence import ClassIndependence
from qpopt_torch.metrics.metric import Metric

__all__ = [
    "Accuracy",
    "ClassIndependence",
    "Contrastiveness",
    "Correlation",
    "Diversity",
    "FeatureAlignment",
    "Metric",
    "PlainDiversity",
    "StructuralGrounding",
    "structural_grounding",
]
