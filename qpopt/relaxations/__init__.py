"""Bounds of one subproblem."""
