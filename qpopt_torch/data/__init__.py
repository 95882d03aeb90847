"""Batches, ranks, seeds, images and drawn birds."""

from qpopt_torch.data.birds.nuisance import Nuisance
from qpopt_torch.data.drawn_birds import BirdSample, DrawnBirds
from qpopt_torch.data.image_folder import ImageFolder

__all__ = ["BirdSample", "DrawnBirds", "ImageFolder", "Nuisance"]
