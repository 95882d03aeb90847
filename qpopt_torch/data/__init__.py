"""Batches, ranks and images."""
