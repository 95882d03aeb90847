"""What it costs to save a pass and a training, and to go on with them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch import nn

from benchmarks.studies.scale.passes import Size, seconds
from benchmarks.studies.scale.stream import Stream, loader_of, plain_case
from qpopt_torch import DenseTraining, collect, find_head
from qpopt_torch.statistics.accumulator import Accumulator, FeatureScale
from qpopt_torch.statistics.checkpoint import PassCheckpoint
from qpopt_torch.training.checkpoint import SHARE, StepCheckpoint, Within
from qpopt_torch.training.loop import Training
from qpopt_torch.training.objectives import TrainingObjective

EVERY = 200
"""Batches between two saves of the pass that is ended: of itself it would hardly save."""


class Saving(NamedTuple):
    """What is kept: its bytes, and the seconds to save it and to go on with it."""

    what: str
    bytes: int
    save: float
    resume: float


class Ended(Exception):
    """A pass was ended in its midst."""


class Ending(Stream):
    """A stream that ends a pass at one of its samples."""

    end: int | None = None

    def __getitems__(self, places: Any) -> Any:
        """Return the samples at some places, unless one of them ends the pass."""
        if self.end in places:
            raise Ended
        return super().__getitems__(places)


def pass_saving(size: Size) -> Saving:
    """Save the sums of a pass, and read them back."""
    shift = torch.zeros(size.features, dtype=torch.float64)
    sums = Accumulator(size.classes, FeatureScale(shift, torch.ones_like(shift)))
    sums.add(torch.randn(size.batch, size.features), torch.arange(size.batch) % size.classes)
    with TemporaryDirectory() as folder:
        kept = PassCheckpoint(Path(folder) / "pass.npz", 1, {}, [])
        save = seconds(lambda: kept.after(1, sums))
        resume = seconds(lambda: kept.resume(sums))
        return Saving(
            f"a pass, at most {100 * SHARE:.0f} % of the time",
            kept.path.stat().st_size,
            save,
            resume,
        )


def ended_pass(size: Size) -> tuple[float, float, bool]:
    """Return the seconds of a pass, of one that was ended halfway, and whether both are the same.

    Both save as often; what is lost lies between the last save and the end.
    """
    model, shape = plain_case(size.features, size.classes)
    stream = Ending(size.samples, size.classes, shape)
    collect(model, loader_of(stream, size.batch), progress=False)  # whatever is done once only
    with TemporaryDirectory() as folder:
        given: dict[str, Any] = {"checkpoint": Path(folder) / "pass.npz", "every": EVERY}
        given["progress"] = False
        found: list[Any] = []

        def whole() -> None:
            found.append(collect(model, loader_of(stream, size.batch), **given))

        def until_its_end() -> None:
            try:
                whole()
            except Ended:
                stream.end = None

        undisturbed = seconds(whole)
        stream.end = size.samples // 2
        disturbed = seconds(until_its_end) + seconds(whole)
    same = all(
        (getattr(found[0], key) == getattr(found[1], key)).all() for key in ("sums", "counts")
    )
    return undisturbed, disturbed, same


def training_saving(model: nn.Module, side: int) -> Saving:
    """Save a training of pictures with such sides behind a step, and go on with it."""
    x = torch.randn(2, 3, side, side)
    head = find_head(model, x)
    objective = TrainingObjective(model, head, 0.0)
    groups = [{"params": list(model.parameters()), "lr": 1e-9}]
    training = Training("", objective, groups, DenseTraining(epochs=1))
    training.step([(x, torch.zeros(len(x), dtype=torch.int64))])
    with TemporaryDirectory() as folder:
        saving = StepCheckpoint(training, Path(folder) / "training.pt", "")
        saving.cost = 0.0  # at once
        loader = [(x, x)]
        save = seconds(lambda: saving.after(0, Within(steps=1), loader))
        assert saving.path is not None
        size = saving.path.stat().st_size
        resume = seconds(lambda: saving.resume(0))
    return Saving(f"a training, at most {100 * SHARE:.0f} % of the time", size, save, resume)
