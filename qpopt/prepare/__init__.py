"""From raw correlations to an Instance: redundancy, its clipping by cliques, bias, scaling."""

from qpopt.prepare.bias import center_from_sums, locality_from_sums
from qpopt.prepare.counts import check_counts
from qpopt.prepare.pipeline import prepare
from qpopt.prepare.redundancy import redundancy
from qpopt.prepare.similarity import auroc_from_histograms, pearson_from_sums

__all__ = [
    "auroc_from_histograms",
    "center_from_sums",
    "check_counts",
    "locality_from_sums",
    "pearson_from_sums",
    "prepare",
    "redundancy",
]
