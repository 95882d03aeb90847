"""How a solve proceeds: one file a method, each a function of incumbent, solver and options."""

from qpopt.methods.base import Method, Options, option
from qpopt.methods.registry import find_method, method_names

__all__ = ["Method", "Options", "find_method", "method_names", "option"]
