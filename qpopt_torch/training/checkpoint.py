"""Checkpoints of a training: written after every epoch, resumed from after a kill."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from qpopt.io import AnyPath, replacing
from qpopt_torch.data import distributed as ranks
from qpopt_torch.errors import UNREADABLE, TrainingError, reason
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.training.settings import AdapterTraining, Schedule

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
                "settings": _described(training),
                "start": start,
                "history": epochs,
                "model": training.model.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "scaler": training.scaler.state_dict(),
                "seal": _seal(training, epochs, start),
            },
            stream,
        )


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
    try:
        training.model.load_state_dict(stored["model"])
        training.optimizer.load_state_dict(stored["optimizer"])
        training.scaler.load_state_dict(stored["scaler"])
    except UNREADABLE as error:
        raise TrainingError(
            f"The checkpoint {path} is damaged; delete it to start again."
        ) from error
    epochs: list[dict[str, float]] = list(stored["history"])
    if stored.get("seal") != _seal(training, epochs, start):
        raise TrainingError(
            f"The checkpoint {path} was changed after it was written; delete it to start again."
        )
    logger.info("resuming after epoch %d from %s", len(epochs), path)
    return epochs


def _seal(training: Resumable, epochs: list[dict[str, float]], start: str) -> str:
    """Return the SHA-256 of what must belong together: the model, and the epochs it went through.

    `start` is as in `write`.
    """
    said = json.dumps([start, epochs, fingerprint(training.model)], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def _described(training: Resumable) -> dict[str, Any]:
    """Return what two trainings must share for one to continue the other."""
    settings = asdict(training.settings)
    settings.pop("lr", None)  # "auto" has become a number, which is among the rates
    return settings | {"rates": [float(g["start"]) for g in training.optimizer.param_groups]}
