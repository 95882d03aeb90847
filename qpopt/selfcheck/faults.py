"""What can be wrong with an answer, each called what it is."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Fault(str, Enum):
    """One way to be wrong; where there are several, the one that stands first names them all."""

    HANG = "hang"
    CRASH = "crash"
    MEMORY = "out of memory"
    INFEASIBLE_POINT = "infeasible point"
    WRONG_OBJECTIVE = "wrong objective"
    EARLY_OPTIMAL = '"optimal" too early'
    LOW_BOUND = "bound below the optimum"
    CALLED_INFEASIBLE = "called infeasible"
    BAD_CERTIFICATE = "certificate that proves nothing"
    ABOVE_OPTIMUM = "better than the proven optimum"
    CONTRADICTION = "contradicts itself"
    ERROR = "error"

    def __str__(self) -> str:
        return self.value


class Finding(NamedTuple):
    """Something that is wrong, and a sentence on it."""

    fault: Fault
    message: str


def worst(findings: list[Finding]) -> Finding:
    """Return the finding that names what happened."""
    order = list(Fault)
    return min(findings, key=lambda finding: order.index(finding.fault))
