"""RunFolder: the folder of a pipeline holds one problem, and a manifest that says which."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
from torch import Tensor

import qpopt
from qpopt import Instance, InvalidArgument, InvalidFile, Solution
from qpopt.io import AnyPath, check_writable, opened_json, save_json
from qpopt_torch.sparse.storage import CONFIG, SOLUTION, WEIGHTS, made_folder
from qpopt_torch.statistics.consistency import fingerprint, same_samples
from qpopt_torch.statistics.statistics import Statistics

MANIFEST, STATISTICS, INSTANCE = "manifest.json", "statistics.npz", "instance.npz"
CHECKPOINT, SWEEP = "checkpoint.pt", "sweep.json"
PASS = "collect.npz"
"""Of a pass that is going on; what belongs to another one is refused by its own content."""
OURS = (STATISTICS, INSTANCE, SOLUTION, CHECKPOINT, WEIGHTS, CONFIG, SWEEP)
"""What a pipeline writes; without a manifest nobody knows which call it belongs to."""

SHOWN = 40
"""Characters of a value that an error shows; longer ones are only named."""

logger = logging.getLogger("qpopt")


class RunFolder:
    """A folder that one call fills, and the same call continues to fill.

    Nothing in it is touched before `open` has found that it is the same call.

    Parameters
    ----------
    path
        The folder, which is made if need be.

    Raises
    ------
    InvalidFile
        If it cannot be written.
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = made_folder(path)
        check_writable(self.path / MANIFEST)

    def open(self, call: Mapping[str, Any], statistics: Statistics) -> Statistics:
        """Take the folder for a call; return its statistics, those in the folder if there are.

        Statistics of the same samples differ in their last digits where sums are made in another
        order; taking the first ones makes the instance the same.

        Parameters
        ----------
        call
            All that decides the result, by name, as `plain_values` gives it.
        statistics
            Those that this call has collected.

        Raises
        ------
        InvalidArgument
            If the folder belongs to another call; it says what differs.
        InvalidFile
            If what it holds does not belong together.
        """
        stored = self.path / MANIFEST
        if not stored.exists():
            if present := [name for name in OURS if (self.path / name).exists()]:
                raise InvalidArgument(
                    f"{self.path} holds {present[0]} but no {MANIFEST}, so nobody knows which call "
                    "it belongs to; pass another directory as out."
                )
            statistics.save(self.path / STATISTICS)
            save_json(stored, "run", {"call": call, "statistics": fingerprint(statistics)})
            return statistics
        with opened_json(stored, "run") as manifest:
            before, known = dict(manifest["call"]), str(manifest["statistics"])
        if changes := _changes(before, call):
            raise self._another_call(", ".join(changes))
        first = Statistics.load(self.path / STATISTICS)
        if fingerprint(first) != known:
            raise InvalidFile(
                f"{self.path / STATISTICS} was changed after it was written; delete the directory."
            )
        if not same_samples(first, statistics):
            raise self._another_call("the samples of the loader")
        return first

    def keep_instance(self, instance: Instance) -> None:
        """Write the instance, unless it is there; raise if another one is."""
        stored = self.path / INSTANCE
        if not stored.exists():
            instance.save(stored)
        elif Instance.load(stored).fingerprint != instance.fingerprint:
            raise self._another_call("the instance that is made of the statistics")

    def solution(self, instance: Instance) -> Solution | None:
        """Return the solution of an interrupted call, or None.

        Raises
        ------
        InvalidFile
            If it does not solve the instance.
        """
        stored = self.path / SOLUTION
        if not stored.exists():
            return None
        solution = Solution.load(stored)
        if solution.fingerprint != instance.fingerprint or not qpopt.verify(instance, solution):
            raise InvalidFile(
                f"{stored} does not solve {self.path / INSTANCE}; delete it to solve again."
            )
        logger.info("using the solution in %s", stored)
        return solution

    def _another_call(self, what: str) -> InvalidArgument:
        return InvalidArgument(
            f"{self.path} belongs to another call; what differs: {what}. Nothing was changed "
            "there: pass another directory as out, or delete this one."
        )


def plain_values(value: Any) -> Any:
    """Return what tells a value from others, as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, Solution):
            return plain_values(value.to_dict())
        return {"": type(value).__name__, **{k: plain_values(v) for k, v in asdict(value).items()}}
    if isinstance(value, Mapping):
        return {str(key): plain_values(one) for key, one in value.items()}
    if isinstance(value, (tuple, list, set, frozenset)):
        return [plain_values(one) for one in value]
    if isinstance(value, (np.ndarray, Tensor)):
        on_cpu = value.detach().cpu() if isinstance(value, Tensor) else value
        array = np.ascontiguousarray(on_cpu)
        digest = hashlib.sha256(array.tobytes()).hexdigest()
        return f"{array.dtype} {array.shape} {digest}"
    if callable(value):  # its values, which are part of the instance, tell it from others
        return getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _changes(before: Any, now: Any, name: str = "") -> list[str]:
    """Name the entries that differ, with both values where they are short."""
    now = json.loads(json.dumps(now))  # as it comes back from a file
    if isinstance(before, dict) and isinstance(now, dict):
        keys = list(dict.fromkeys((*before, *now)))
        inside = [_changes(before.get(k), now.get(k), f"{name}.{k}".strip(".")) for k in keys]
        return [change for changes in inside for change in changes]
    if before == now:
        return []
    shown = [json.dumps(value, ensure_ascii=False) for value in (before, now)]
    if max(map(len, shown)) > SHOWN:
        return [name]
    return [f"{name} ({shown[0]} there, {shown[1]} now)"]
