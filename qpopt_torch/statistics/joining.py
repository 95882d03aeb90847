"""Adding up what several processes have summed, in no more memory than one of them needs."""

from __future__ import annotations

import torch.distributed as dist

from qpopt import InvalidInstance
from qpopt_torch.data import distributed as ranks
from qpopt_torch.statistics.accumulator import Accumulator
from qpopt_torch.statistics.consistency import OPTIONAL

ALWAYS = ("counts", "sums", "squares")


def join(sums: Accumulator) -> None:
    """Give every rank the sums of all, in place; without other processes nothing happens.

    All ranks must have the same shift and bins. One without any samples may lack what others have.

    Raises
    ------
    InvalidInstance
        If two ranks with samples made different kinds of sums.
    """
    if not ranks.active():
        return
    n_samples = int(sums.counts.sum())
    shapes = {
        name: tuple(value.shape) for name in OPTIONAL if (value := getattr(sums, name)) is not None
    }
    told = ranks.on_all(lambda: (n_samples, shapes, sums.n_positions, sums.rounding))
    kinds = [known for count, known, *_ in told if count]
    for known in kinds[1:]:
        if known != kinds[0]:
            apart = sorted(set(known.items()) ^ set(kinds[0].items()))[0][0]
            raise InvalidInstance(f"The ranks differ in {apart}; collect on all in the same way.")
    for name, shape in (kinds[0] if kinds else shapes).items():
        if getattr(sums, name) is None:
            setattr(sums, name, sums.sums.new_zeros(shape))
    with ranks.in_touch():
        for name in (*ALWAYS, *(kinds[0] if kinds else shapes)):
            dist.all_reduce(getattr(sums, name))
        dist.all_reduce(sums.minima, dist.ReduceOp.MIN)
    sums.n_positions = max(positions for *_, positions, _ in told)
    sums.rounding = max(rounding for *_, rounding in told)
