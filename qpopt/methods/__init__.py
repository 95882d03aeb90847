"""How a solve proceeds: one file a method, each a function of instance, solver and settings."""

from qpopt.control.settings import Settings, Start
from qpopt.methods.base import Method
from qpopt.methods.registry import find_method, method_names

__all__ = ["Method", "Settings", "Start", "find_method", "method_names"]
