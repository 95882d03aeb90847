"""Good selections, fast: greedy, swap search and the exact assignment."""

from qpopt.search.assignment import assign

__all__ = ["assign"]
