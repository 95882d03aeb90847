"""Proofs: upper bounds on the Z of every solution."""
