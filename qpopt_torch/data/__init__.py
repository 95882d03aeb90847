"""Batches, ranks, seeds and images."""

from qpopt_torch.data.image_folder import ImageFolder

__all__ = ["ImageFolder"]
