"""Sparsify a small network and write its report, with nothing but what is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn

import qpopt_torch


def main(path: Path) -> None:
    """Write the report of an untrained network, and see that the page is in it."""
    torch.manual_seed(0)
    maps = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU())
    model = nn.Sequential(maps, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
    loader = [(torch.rand(16, 3, 8, 8), torch.arange(16) % 4)]
    sparse = qpopt_torch.sparsify(model, loader, n_select=6, n_per_class=2, training=None)
    sparse.report(path, loader, class_names=["crow", "finch", "gull", "wren"])
    text = path.read_text(encoding="utf-8")
    for part in ("<script", "<style", "finch"):
        if part not in text:
            raise SystemExit(f"The report has no {part!r}.")
    print(f"{path}: {len(text):,} characters")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
