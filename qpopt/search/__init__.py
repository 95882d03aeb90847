"""Good selections, fast: greedy, swap search and the exact assignment."""

from qpopt.search.assignment import assign
from qpopt.search.greedy import greedy
from qpopt.search.run import SearchResult, search

__all__ = ["SearchResult", "assign", "greedy", "search"]
