"""How good and how readable a classifier is. Accuracy is from 0 to 1, the rest in percent.

Each metric accumulates: call `update` for every batch, `merge` to add what another process saw, and
`compute` at the end. Nothing depends on the order of the samples or on how they are batched.
"""

from qpopt_torch.metrics.accuracy import Accuracy
from qpopt_torch.metrics.alignment import FeatureAlignment, RecognisedParts
from qpopt_torch.metrics.birds.causal import (
    background_independence,
    feature_effects,
    single_deletion,
)
from qpopt_torch.metrics.birds.interventions import intervene
from qpopt_torch.metrics.birds.parts import PartAlignment, part_alignment
from qpopt_torch.metrics.birds.pointing_game import pointing
from qpopt_torch.metrics.birds.twins import twin_contrasts
from qpopt_torch.metrics.contrastiveness import Contrastiveness
from qpopt_torch.metrics.correlation import Correlation
from qpopt_torch.metrics.diversity import Diversity, PlainDiversity
from qpopt_torch.metrics.explanations.contrastive_pairs import ContrastivePairs, contrastive_pairs
from qpopt_torch.metrics.explanations.deletion import deletion_test
from qpopt_torch.metrics.explanations.local_alignment import LocalAlignment, local_alignment
from qpopt_torch.metrics.explanations.plausibility import Plausibility, PointingGame
from qpopt_torch.metrics.grounding import StructuralGrounding, structural_grounding
from qpopt_torch.metrics.independence import ClassIndependence
from qpopt_torch.metrics.metric import Metric

__all__ = [
    "Accuracy",
    "ClassIndependence",
    "ContrastivePairs",
    "Contrastiveness",
    "Correlation",
    "Diversity",
    "FeatureAlignment",
    "LocalAlignment",
    "Metric",
    "PartAlignment",
    "PlainDiversity",
    "Plausibility",
    "PointingGame",
    "RecognisedParts",
    "StructuralGrounding",
    "background_independence",
    "contrastive_pairs",
    "deletion_test",
    "feature_effects",
    "intervene",
    "local_alignment",
    "part_alignment",
    "pointing",
    "single_deletion",
    "structural_grounding",
    "twin_contrasts",
]
