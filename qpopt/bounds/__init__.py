"""Proofs: upper bounds on the Z of every solution."""

from qpopt.bounds.bound import KINDS, Bound, bound
from qpopt.bounds.certificate import Certificate

__all__ = ["KINDS", "Bound", "Certificate", "bound"]
