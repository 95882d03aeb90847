"""PassCheckpoint: what a pass over the data has added up so far, kept on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qpopt import InvalidArgument
from qpopt.io import AnyPath, check_writable, opened_archive, save_archive
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.resuming import rest_of
from qpopt_torch.statistics.accumulator import Accumulator
from qpopt_torch.statistics.shares import Order, Turn

SHARE = 0.01
"""Share of its time that a pass may spend on saving."""
SPEED = 4e7
"""Bytes that are saved in a second, as long as nothing is known of that."""

OWN = ("the first batch", "the number of batches")
"""What the processes of one pass need not share."""

Sums = dict[str, NDArray[Any]]


class Saved(NamedTuple):
    """What one process has saved, but for its sums."""

    identity: dict[str, Any]
    turn: int
    ranks: int
    batch: int
    batches: int


class PassCheckpoint:
    """Keeps the sums of a pass, so that it goes on where it was ended, at any moment.

    Each of several processes has a file of its own, with its number at the end of the name. Where
    another number of them goes on, what they saved is put together in one more file first, and the
    samples that are left are divided anew.

    Parameters
    ----------
    path
        The file.
    every
        Batches between two saves; None saves as often as a hundredth of the time allows.
    identity
        What tells this pass from another one.
    loader
        What is read.

    Raises
    ------
    InvalidFile
        If it cannot be written.
    """

    def __init__(
        self,
        path: AnyPath,
        every: int | None,
        identity: Mapping[str, Any],
        loader: Iterable[Any],
    ) -> None:
        self.plain, self.rank, self.n_ranks = Path(path), ranks.rank(), ranks.size()
        self.path = self._of_rank(self.rank) if ranks.active() else self.plain
        self.base = self.plain.with_name(f"{self.plain.name}-before")
        self.loader, self.order, self.every = loader, Order.of(loader), every
        known = dict(identity)
        if self.order is not None:
            known["the order of the samples"] = self.order.fingerprint()
        self.identity = json.loads(json.dumps(known))  # as it comes back from a file
        self.turns: list[Turn] = []
        self.began, self.spent, self.cost = perf_counter(), 0.0, inf
        check_writable(self.path)

    def begin(self, sums: Accumulator) -> None:
        """Find out, all ranks together, how far the pass has come.

        Raises
        ------
        InvalidArgument
            If the files belong to another pass.
        InvalidFile
            If one is damaged.
        """
        self.turns, shift, scale = ranks.on_first(self._begin)
        if shift is not None:
            sums.shift = torch.from_numpy(shift).to(sums.shift.device)
            sums.scale = None if scale is None else torch.from_numpy(scale).to(sums.shift.device)

    def resume(self, sums: Accumulator) -> int | None:
        """Fill sums with what this process has saved; return how many batches of `rest` that is.

        None says that it reads the loader from its beginning, as if there were no files.
        """
        if not self.path.exists() or (saved := _saved(self.path)).turn < len(self.turns):
            return 0 if self.turns else None
        self._check(self.path, saved, self.identity)
        for name, value in _sums(self.path).items():
            setattr(sums, name, torch.from_numpy(value).to(sums.shift.device))
        sums.n_positions, sums.rounding = _positions(self.path)
        return saved.batches

    def rest(self, done: int) -> Iterable[Any]:
        """Return what is left for this process to read after so many batches."""
        own = None
        if self.turns and self.order is not None:
            own = self.order.share(self.turns, self.rank, self.n_ranks).tolist()
        return rest_of(self.loader, done, own)

    def after(self, batches: int, sums: Accumulator) -> None:
        """Save the sums of so many batches, if it is time."""
        tensors = {n: value for n, value in vars(sums).items() if isinstance(value, Tensor)}
        if not self._is_due(batches, tensors):
            return
        began = perf_counter()
        arrays = {name: value.cpu().numpy() for name, value in tensors.items()}
        size = 0 if self.order is None else self.order.batch
        saved = Saved(self.identity, len(self.turns), self.n_ranks, size, batches)
        known = {"n_positions": sums.n_positions, "rounding": sums.rounding, **saved._asdict()}
        save_archive(self.path, "collect", known, arrays)
        self.cost = perf_counter() - began
        self.spent += self.cost

    def _is_due(self, batches: int, tensors: Mapping[str, Tensor]) -> bool:
        if self.every is not None:
            return batches % self.every == 0
        if self.cost == inf:
            self.cost = sum(value.nbytes for value in tensors.values()) / SPEED
        return self.spent + self.cost <= SHARE * (perf_counter() - self.began)

    def add_before(self, sums: Accumulator) -> None:
        """Add what processes before these have summed; on the first rank, once."""
        if not self.turns or self.rank:
            return
        for name, value in _sums(self.base).items():
            own = getattr(sums, name)
            now = value if own is None else _added(name, own.cpu().numpy(), value)
            setattr(sums, name, torch.from_numpy(now).to(sums.shift.device))
        positions, rounding = _positions(self.base)
        sums.n_positions = max(sums.n_positions, positions)
        sums.rounding = max(sums.rounding, rounding)

    def done(self) -> None:
        """Take the files away: the pass is over, on all ranks."""
        self.path.unlink(missing_ok=True)
        if self.rank == 0:
            for path in (*self._files(), self.base):
                path.unlink(missing_ok=True)

    def _begin(self) -> tuple[list[Turn], Any, Any]:
        """Return the turns that are over, and shift and scale of what they summed."""
        turns: list[Turn] = []
        if self.base.exists():
            with opened_archive(self.base, "collect") as (_, meta):
                turns = [Turn(r, b, tuple(done)) for r, b, done in meta["turns"]]
                self._check(self.base, Saved(**{k: meta[k] for k in Saved._fields}), self._shared)
        found = {path: _saved(path) for path in self._files()}
        found = {path: saved for path, saved in found.items() if saved.turn == len(turns)}
        others = {path: saved for path, saved in found.items() if saved.ranks != self.n_ranks}
        if others:
            for path, saved in others.items():
                self._check(path, saved, self._shared)
            turns = self._put_together(turns, others)
        if not turns:
            return [], None, None
        known = _sums(self.base)
        return turns, known["shift"], known.get("scale")

    def _put_together(self, turns: list[Turn], found: Mapping[Path, Saved]) -> list[Turn]:
        """Write what other processes saved into one file, and return the turns with theirs."""
        path, saved = next(iter(found.items()))
        if self.order is None or not saved.batch:
            raise InvalidArgument(
                f"{path} was saved by {saved.ranks} processes, and this are {self.n_ranks}; "
                "without a DataLoader that DistributedSampler divides, as many must go on."
            )
        done = [0] * saved.ranks
        paths = [*found, *([self.base] if turns else [])]
        for path, each in found.items():
            done[0 if each.ranks == 1 else int(path.name.rpartition("-")[2])] = each.batches
        turns = [*turns, Turn(saved.ranks, saved.batch, tuple(done))]
        total: Sums = {}
        positions, rounding = 0, 0.0
        for path in paths:
            for name, value in _sums(path).items():
                total[name] = _added(name, total[name], value) if name in total else value
            known = _positions(path)
            positions, rounding = max(positions, known[0]), max(rounding, known[1])
        meta = saved._replace(identity=self._shared)._asdict()
        meta |= {"n_positions": positions, "rounding": rounding, "turns": turns}
        save_archive(self.base, "collect", meta, total)
        return turns

    @property
    def _shared(self) -> dict[str, Any]:
        return {key: value for key, value in self.identity.items() if key not in OWN}

    def _check(self, path: Path, saved: Saved, identity: Mapping[str, Any]) -> None:
        """Raise unless a file is of this pass."""
        if changed := [key for key, value in identity.items() if saved.identity.get(key) != value]:
            raise InvalidArgument(
                f"{path} is of another pass; what differs: {', '.join(changed)}. Delete it, or "
                "name another file as checkpoint."
            )

    def _of_rank(self, rank: int) -> Path:
        return self.plain.with_name(f"{self.plain.name}-{rank}")

    def _files(self) -> list[Path]:
        """Return the files of all processes, of those of before as well."""
        name = re.compile(re.escape(self.plain.name) + r"(-\d+)?")
        return sorted(p for p in self.plain.parent.iterdir() if name.fullmatch(p.name))


def _added(name: str, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Return what two sums of a name come to."""
    if name in ("shift", "scale"):
        return first
    return np.asarray(np.minimum(first, second) if name == "minima" else first + second)


def _saved(path: Path) -> Saved:
    with opened_archive(path, "collect") as (_, meta):
        return Saved(**{name: meta[name] for name in Saved._fields})


def _sums(path: Path) -> Sums:
    with opened_archive(path, "collect") as (arrays, _):
        return {name: arrays[name] for name in arrays if name != "meta"}


def _positions(path: Path) -> tuple[int, float]:
    with opened_archive(path, "collect") as (_, meta):
        return int(meta["n_positions"]), float(meta["rounding"])
