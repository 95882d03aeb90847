"""PassCheckpoint: what a pass over the data has added up so far, kept on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qpopt import InvalidArgument
from qpopt.io import AnyPath, check_writable, opened_archive, save_archive
from qpopt_torch.data import distributed as ranks
from qpopt_torch.statistics.accumulator import Accumulator

EVERY = 100
"""Batches between two saves: one costs about as much as a batch of a large network."""


class PassCheckpoint:
    """Keeps the sums of a pass, so that it goes on where it was ended, at any moment.

    Parameters
    ----------
    path
        The file; of several ranks each has its own, with its number at the end of the name.
    every
        Batches between two saves.
    identity
        What tells this pass from another one.

    Raises
    ------
    InvalidFile
        If it cannot be written.
    """

    def __init__(self, path: AnyPath, every: int, identity: Mapping[str, Any]) -> None:
        plain = Path(path)
        self.path = plain.with_name(f"{plain.name}-{ranks.rank()}") if ranks.active() else plain
        # As it comes back from a file.
        self.every, self.identity = every, json.loads(json.dumps(identity))
        check_writable(self.path)

    def resume(self, sums: Accumulator) -> int:
        """Fill sums with what is known, and return how many batches that is.

        Raises
        ------
        InvalidArgument
            If the file belongs to another pass.
        InvalidFile
            If it is damaged.
        """
        if not self.path.exists():
            return 0
        with opened_archive(self.path, "collect") as (arrays, meta):
            known, batches = meta["identity"], int(meta["batches"])
            values = {name: arrays[name] for name in arrays if name != "meta"}
            positions, rounding = int(meta["n_positions"]), float(meta["rounding"])
        if changed := [key for key, value in self.identity.items() if known.get(key) != value]:
            raise InvalidArgument(
                f"{self.path} is of another pass; what differs: {', '.join(changed)}. Delete it, "
                "or name another file as checkpoint."
            )
        for name, value in values.items():
            setattr(sums, name, torch.from_numpy(value).to(sums.shift.device))
        sums.n_positions, sums.rounding = positions, rounding
        return batches

    def after(self, batches: int, sums: Accumulator) -> None:
        """Save the sums of so many batches, if it is time."""
        if batches % self.every:
            return
        arrays = {
            name: value.cpu().numpy()
            for name, value in vars(sums).items()
            if isinstance(value, Tensor)
        }
        known = {"n_positions": sums.n_positions, "rounding": sums.rounding, "batches": batches}
        save_archive(self.path, "collect", {**known, "identity": self.identity}, arrays)

    def done(self) -> None:
        """Take the file away: the pass is over."""
        self.path.unlink(missing_ok=True)
