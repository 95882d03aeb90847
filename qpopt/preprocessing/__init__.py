"""From raw correlations to an Instance: redundancy, its clipping by cliques, bias, scaling."""

from qpopt.preprocessing.bias import center_from_sums, locality_from_sums
from qpopt.preprocessing.prepare import prepare
from qpopt.preprocessing.redundancy import redundancy
from qpopt.preprocessing.similarity import auroc_from_histograms, pearson_from_sums
from qpopt.problem.counts import check_counts

__all__ = [
    "auroc_from_histograms",
    "center_from_sums",
    "check_counts",
    "locality_from_sums",
    "pearson_from_sums",
    "prepare",
    "redundancy",
]
