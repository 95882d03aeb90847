"""One process of several that collect together, as torchrun starts it: FOLDER and a size."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch.distributed as dist
from torch.utils.data import DistributedSampler

from benchmarks.studies.scale.passes import Size, seconds
from benchmarks.studies.scale.stream import Stream, loader_of, plain_case
from qpopt_torch import Statistics, collect


def main(folder: Path, size: Size) -> None:
    """Collect, and let the first process write what came of it and how long it took."""
    dist.init_process_group("gloo")
    model, shape = plain_case(size.features, size.classes)
    stream = Stream(size.samples, size.classes, shape)
    sampler: DistributedSampler[int] = DistributedSampler(stream, shuffle=False)
    found: list[Statistics] = []

    def work() -> None:
        loader = loader_of(stream, size.batch, sampler)
        found.append(collect(model, loader, progress=False))

    work()  # whatever is done once only
    dist.barrier()
    spent = seconds(work)
    if dist.get_rank() == 0:
        found[-1].save(folder / "statistics.npz")
        (folder / "seconds.json").write_text(json.dumps(spent), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Size(*map(int, sys.argv[2:])))
