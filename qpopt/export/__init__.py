"""Writing the formulations of an instance as files that other solvers read."""

from qpopt.export.export import FORMATS, FORMULATIONS, export

__all__ = ["FORMATS", "FORMULATIONS", "export"]
