"""seeded: a block that depends on its seed alone; and going on within it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from qpopt_torch.data import distributed as ranks


@contextmanager
def seeded(seed: int, epoch: int, loader: Any) -> Iterator[None]:
    """Make everything random in the block depend on seed, epoch and rank alone, then undo it."""
    value = int(np.random.SeedSequence([seed, epoch, ranks.rank()]).generate_state(1)[0])
    before = random.getstate(), np.random.get_state()
    own = getattr(loader, "generator", None)
    own_state = None if own is None else own.get_state()
    with torch.random.fork_rng():
        torch.manual_seed(value)
        random.seed(value)
        np.random.seed(value)
        if own is not None:
            own.manual_seed(value)
        if hasattr(sampler := getattr(loader, "sampler", None), "set_epoch"):
            sampler.set_epoch(epoch)  # type: ignore[union-attr]
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
            if own is not None:
                own.set_state(own_state)


def random_state(loader: Any) -> dict[str, Any]:
    """Return all that decides what is random next, in values that a checkpoint can hold."""
    name, words, *rest = np.random.get_state(legacy=True)
    own = getattr(loader, "generator", None)
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "python": random.getstate(),
        "numpy": [name, np.asarray(words).tolist(), *rest],
        "loader": None if own is None else own.get_state(),
    }


def set_random_state(state: dict[str, Any], loader: Any) -> None:
    """Let everything random go on as it would have where `random_state` was asked."""
    torch.set_rng_state(state["torch"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    name, numbers, *rest = state["numpy"]
    np.random.set_state((name, np.array(numbers, dtype=np.uint32), *rest))
    if state["loader"] is not None:
        loader.generator.set_state(state["loader"])
