"""seeded: a block that depends on its seed alone."""

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
