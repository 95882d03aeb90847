"""The process that measures: what an answer is worth, by a linear adapter on cached features."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from qpopt import Instance
from qpopt_torch.baselines.chance import chance_assignment
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.studio.demands import Wishes, class_sets
from qpopt_torch.studio.work.cache import Cached
from qpopt_torch.studio.work.processes import OnMessage, serve
from qpopt_torch.training.adapter_training import train_adapter
from qpopt_torch.training.settings import AdapterTraining

ADAPTER = AdapterTraining(kind="linear", epochs=10, lr=2e-3)
"""Linear: an adapter that can write any answer into any assignment tells nothing of either."""


class Measuring:
    """Trains adapters on features that are at hand.

    Parameters
    ----------
    folder
        Where `Cached` keeps them.
    base
        The instance of the model; random assignments are drawn for its counts.
    """

    def __init__(self, folder: Path, base: Instance) -> None:
        self.cached, self.base = Cached.load(folder), base
        self.controls: dict[tuple[int, int], float] = {}

    def answer(self, job: dict[str, Any], tell: OnMessage) -> None:
        """Measure the answer of a job, then a random one with the same counts."""
        sets = job["sets"]
        right = self._right(job["selection"], sets, lambda done: tell(_progress(done / 2)))
        total = self.cached.totals
        tell({"kind": "measured", "right": right.tolist(), "total": total.tolist()})
        counts = len(job["selection"]), len(sets[0])
        if counts not in self.controls:
            chance = chance_assignment(Wishes(*counts).instance(self.base, bare=True), job["seed"])
            assert chance.selection is not None
            drawn = chance.selection.tolist()
            by_chance = class_sets(drawn, chance.assignment)
            hits = self._right(drawn, by_chance, lambda done: tell(_progress(0.5 + done / 2)))
            self.controls[counts] = float(hits.sum() / max(1, total.sum()))
        tell({"kind": "control", "control": self.controls[counts]})

    def _right(self, selection: list[int], sets: list[list[int]], told: Any) -> NDArray[np.int64]:
        """Return how many validation samples of every class are recognised."""
        held = self.cached
        head = held.head(selection, sets)
        epochs = ADAPTER.epochs

        def epoch(record: dict[str, float], step: int) -> None:
            told(record.get("epoch", epochs) / epochs)

        train_adapter(head, held.features, held.labels, ADAPTER, log=epoch, progress=False)
        return held.right(head)


def _progress(share: float) -> dict[str, Any]:
    return {"kind": "progress", "share": round(min(1.0, share), 3)}


def main() -> None:
    """Load features and instance, and measure what is asked."""
    torch.set_num_threads(1)
    measuring = Measuring(Path(sys.argv[1]), Instance.load(sys.argv[2]))
    SparseHead([0], [[1]], [0.0], [1.0])
    serve(measuring.answer)


if __name__ == "__main__":
    main()
