"""How a solve proceeds: one file a method, each a function of instance, solver and settings."""

from qpopt.methods.base import Method
from qpopt.methods.registry import find_method, method_names
from qpopt.methods.settings import Settings, Start

__all__ = ["Method", "Settings", "Start", "find_method", "method_names"]
