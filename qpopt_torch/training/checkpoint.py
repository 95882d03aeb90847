"""Checkpoints of a training: after every epoch, and within it as often as that costs little."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import torch
from torch import nn

from qpopt.io import AnyPath, replacing
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.seeding import random_state
from qpopt_torch.errors import UNREADABLE, TrainingError, reason
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.training.settings import AdapterTraining, Schedule

SHARE = 0.01
"""Share of its time that a training may spend on saving within epochs."""
SPEED = 1e8
"""Bytes that are saved in a second, as long as nothing is known of that."""
APART = 16
"""Steps between two moments at which several processes agree whether to save."""

logger = logging.getLogger("qpopt")


class Resumable(Protocol):
    """What a checkpoint needs to know of a training."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    settings: Schedule | AdapterTraining


def write(
    training: Resumable, epochs: list[dict[str, float]], path: AnyPath | None, start: str
) -> None:
    """Write the state of a training after its last epoch; only the first rank does.

    `start` is the fingerprint of the model that the training began with.
    """
    if path is None or not ranks.is_first():
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        torch.save(
            {
                **_state(training, start),
                "history": epochs,
                "seal": _seal(training, epochs, start),
            },
            stream,
        )


def _state(training: Resumable, start: str) -> dict[str, Any]:
    return {
        "settings": _described(training),
        "start": start,
        "model": training.model.state_dict(),
        "optimizer": training.optimizer.state_dict(),
        "scaler": training.scaler.state_dict(),
    }


@dataclass
class Within:
    """How far an epoch has come on one rank.

    Parameters
    ----------
    steps
        Batches that were trained on.
    loss
        Sum of the losses of the samples.
    n_correct, n_samples
        Samples that were recognised, and all.
    seconds
        Time that it took.
    random
        What is random next, as `random_state` gives it; None at the beginning of the epoch.
    """

    steps: int = 0
    loss: float = 0.0
    n_correct: int = 0
    n_samples: int = 0
    seconds: float = 0.0
    random: dict[str, Any] | None = None


class StepCheckpoint:
    """Saves a training within its epochs, beside the checkpoint that is written after each.

    It takes at most a hundredth of the time, however slow the disk is.

    Parameters
    ----------
    training
        The training.
    path
        The checkpoint of the epochs; None for none.
    start
        As in `write`.
    """

    def __init__(self, training: Resumable, path: AnyPath | None, start: str) -> None:
        self.training, self.start = training, start
        self.path = None if path is None else Path(f"{path}.step")
        size = sum(value.nbytes for value in training.model.state_dict().values())
        self.began, self.spent, self.cost = perf_counter(), 0.0, 3 * size / SPEED

    def resume(self, done: int) -> Within:
        """Bring the training to where an epoch was ended, if it was in its midst.

        Parameters
        ----------
        done
            Epochs before it.

        Raises
        ------
        TrainingError
            As `resume`.
        """
        stored = read(self.path)
        if self.path is None or stored is None or stored.get("done") != done:
            return Within()
        parts = stored["ranks"]
        _check_origin(self.training, stored, self.path, self.start)
        if len(parts) != ranks.size():
            logger.warning(
                "%s was saved in the midst of epoch %d by %d processes, and this are %d, who see "
                "samples in another order: they begin with the epoch.",
                *(self.path, done + 1, len(parts), ranks.size()),
            )
            return Within()
        _fill(self.training, stored, self.path)
        if stored.get("seal") != _seal(self.training, [done, parts[0]["steps"]], self.start):
            raise TrainingError(
                f"{self.path} was changed after it was written; delete it to begin with the epoch."
            )
        within = Within(**parts[ranks.rank()])
        logger.info("resuming after step %d of epoch %d", within.steps, done + 1)
        return within

    def after(self, done: int, within: Within, loader: Any) -> None:
        """Save the step that was taken, if it is time."""
        apart = APART * self.training.settings.accumulate
        if self.path is None or (ranks.active() and within.steps % apart):
            return
        if not ranks.on_first(self._is_due):
            return
        began = perf_counter()
        within.random = random_state(loader)
        parts = ranks.on_all(lambda: vars(within))
        if ranks.is_first():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            seal = _seal(self.training, [done, within.steps], self.start)
            content = {"done": done, "ranks": parts, "history": [], "seal": seal}
            with replacing(self.path) as stream:
                torch.save({**_state(self.training, self.start), **content}, stream)
        self.cost = perf_counter() - began
        self.spent += self.cost

    def write(self, epochs: list[dict[str, float]], path: AnyPath | None) -> None:
        """Write the checkpoint of the epochs; what was saved within the last one is over."""
        began = perf_counter()
        write(self.training, epochs, path, self.start)
        if self.path is not None and ranks.is_first():
            self.path.unlink(missing_ok=True)
        self.spent += perf_counter() - began

    def _is_due(self) -> bool:
        return bool(self.spent + self.cost <= SHARE * (perf_counter() - self.began))


def read(path: AnyPath | None) -> Mapping[str, Any] | None:
    """Return the content of a checkpoint, or None if there is none.

    Raises
    ------
    TrainingError
        If the file is damaged or something else.
    """
    if path is None or not Path(path).exists():
        return None
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(stored, Mapping) and _is_whole(stored):
            return stored
        why = "it holds something else"
    except UNREADABLE as error:
        why = reason(error)
    raise TrainingError(
        f"{path} is no checkpoint that can be resumed ({why}); delete it to start again."
    )


def _is_whole(stored: Mapping[str, Any]) -> bool:
    """Whether a file holds what `write` writes."""
    settings, history = stored.get("settings"), stored.get("history")
    rates = settings.get("rates") if isinstance(settings, Mapping) else None
    return (
        (isinstance(rates, list) and bool(rates) and all(isinstance(r, float) for r in rates))
        and (isinstance(history, list) and all(isinstance(record, dict) for record in history))
        and all(isinstance(stored.get(k), Mapping) for k in ("model", "optimizer", "scaler"))
    )


def resume(training: Resumable, path: AnyPath | None, start: str) -> list[dict[str, float]]:
    """Bring a training to the state of its checkpoint; return the epochs that are done.

    `start` is as in `write`.

    Raises
    ------
    TrainingError
        If the checkpoint is damaged, of another model, or was begun with other settings.
    """
    stored = read(path)
    if stored is None:
        return []
    assert path is not None
    _check_origin(training, stored, path, start)
    _fill(training, stored, path)
    epochs: list[dict[str, float]] = list(stored["history"])
    if stored.get("seal") != _seal(training, epochs, start):
        raise TrainingError(
            f"The checkpoint {path} was changed after it was written; delete it to start again."
        )
    logger.info("resuming after epoch %d from %s", len(epochs), path)
    return epochs


def _check_origin(
    training: Resumable, stored: Mapping[str, Any], path: AnyPath, start: str
) -> None:
    """Raise unless a checkpoint was begun with these settings, by this model."""
    now, then = _described(training), stored["settings"]
    if other := [key for key in now if then.get(key) != now[key]]:
        raise TrainingError(
            f"The checkpoint {path} belongs to a training with other settings "
            f"({', '.join(other)}); delete it to start again."
        )
    if stored.get("start") != start:
        raise TrainingError(
            f"The checkpoint {path} is of another model, or of one with other weights; delete it "
            "to start again."
        )


def _fill(training: Resumable, stored: Mapping[str, Any], path: AnyPath) -> None:
    """Give a training the state of a checkpoint."""
    try:
        training.model.load_state_dict(stored["model"])
        training.optimizer.load_state_dict(stored["optimizer"])
        training.scaler.load_state_dict(stored["scaler"])
    except UNREADABLE as error:
        raise TrainingError(
            f"The checkpoint {path} is damaged; delete it to start again."
        ) from error


def _seal(training: Resumable, epochs: list[Any], start: str) -> str:
    """Return the SHA-256 of what must belong together: the model, and what it went through.

    `start` is as in `write`.
    """
    said = json.dumps([start, epochs, fingerprint(training.model)], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def _described(training: Resumable) -> dict[str, Any]:
    """Return what two trainings must share for one to continue the other."""
    settings = asdict(training.settings)
    settings.pop("lr", None)  # "auto" has become a number, which is among the rates
    return settings | {"rates": [float(g["start"]) for g in training.optimizer.param_groups]}
