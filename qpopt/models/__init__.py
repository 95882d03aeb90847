"""The formulations, as Pyomo abstract models, and the arrays they are compiled to."""

from qpopt.models.compiled import CompiledModel, QuadraticRow, Rows, Size

__all__ = ["CompiledModel", "QuadraticRow", "Rows", "Size"]
