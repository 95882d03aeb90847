"""Optimal sparse classifiers from trained PyTorch networks, on top of qpopt."""
