"""How long the whole pipeline takes on GPUs: the published speed of one network, times ratios.

    T(P) = N·φ·κ / v(P)  +  S  +  E·N·τ·(1 + σ) / v(P)  +  V·φ·κ / v(1)  +  W·C / 1000
           collect          solve  fine-tune                report: look         write

N and V are training and validation samples, C classes, E epochs, P GPUs; v(P) is the published
speed of training, in samples a second. The rest is measured: φ, a forward pass in training steps;
κ, `collect` in forward passes; τ, a step of fine-tuning in plain steps; σ, the share that saving
takes; S, the limit of the solve; W, seconds to write a report of 1,000 classes.
"""

from __future__ import annotations

from typing import NamedTuple

PUBLISHED = {1: 2470.0, 8: 16621.0}
"""Samples a second of ResNet50 v1.5 training in mixed precision, on 1 and 8 A100 80GB.

NVIDIA, DeepLearningExamples, PyTorch/Classification/ConvNets/resnet50v1.5/README.md, container
21.03. More GPUs are taken as so many machines of eight that lose nothing by working together.
"""
GPUS = (1, 8, 64)
EPOCHS = 40
VALIDATION = 50_000


class Data(NamedTuple):
    """A data set: its name, training samples and classes."""

    name: str
    samples: int
    classes: int


class Measured(NamedTuple):
    """What is measured here; see the formula above."""

    forward: float
    collect: float
    step: float
    saving: float
    solve: float
    write: float


class Hours(NamedTuple):
    """Of every stage of the pipeline."""

    collect: float
    solve: float
    fine_tune: float
    report: float

    @property
    def total(self) -> float:
        """Of all stages, one after the other."""
        return sum(self)


IMAGENET = Data("ImageNet-1k", 1_281_167, 1_000)
IMAGENET_21K = Data("ImageNet-21k", 14_197_122, 21_841)


def speed(gpus: int) -> float:
    """Return the samples that so many GPUs train on in a second."""
    if gpus in PUBLISHED:
        return PUBLISHED[gpus]
    most = max(PUBLISHED)
    return PUBLISHED[most] * gpus / most


def hours(data: Data, gpus: int, measured: Measured) -> Hours:
    """Return what the formula gives."""
    seen = measured.forward * measured.collect
    trained = EPOCHS * data.samples * measured.step * (1 + measured.saving)
    report = VALIDATION * seen / speed(1) + measured.write * data.classes / 1000
    seconds = (data.samples * seen / speed(gpus), measured.solve, trained / speed(gpus), report)
    return Hours(*(value / 3600 for value in seconds))


def histograms(data: Data, features: int, bins: int = 64) -> float:
    """Return the gigabytes of the histograms for AUROC."""
    return 4.0 * bins * features * data.classes / 1e9


def alone_share(hours: Hours) -> float:
    """Return the share of the time in which one process works and all others wait."""
    return (hours.solve + hours.report) / hours.total
