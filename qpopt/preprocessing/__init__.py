"""From raw sums to an Instance: similarity, redundancy, its clipping by cliques, bias, scaling.

`prepare` and `redundancy` are names of `qpopt` itself.
"""

from qpopt.preprocessing.bias import center_from_sums, locality_from_sums
from qpopt.preprocessing.prepare import HANDED_ON, check_scales
from qpopt.preprocessing.published_bias import PublishedBias
from qpopt.preprocessing.sharing import sharing_advice
from qpopt.preprocessing.similarity import (
    auroc_from_histograms,
    auroc_from_rank_sums,
    pearson_from_sums,
)
from qpopt.problem.validation import check_counts

__all__ = [
    "HANDED_ON",
    "PublishedBias",
    "auroc_from_histograms",
    "auroc_from_rank_sums",
    "center_from_sums",
    "check_counts",
    "check_scales",
    "locality_from_sums",
    "pearson_from_sums",
    "sharing_advice",
]
