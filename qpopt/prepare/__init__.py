"""From raw correlations to an Instance: redundancy, its clipping by cliques, bias, scaling."""

from qpopt.prepare.pipeline import prepare
from qpopt.prepare.redundancy import redundancy

__all__ = ["prepare", "redundancy"]
