"""`qpopt-torch inspect`: what would be replaced in a network, before any training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer

from qpopt_torch.cli import options as common
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.network.builders import build, load_weights
from qpopt_torch.network.head_finder import find_head
from qpopt_torch.network.observation import observe, run


def inspect_command(
    model: common.ModelName,
    n_classes: Annotated[int, typer.Option(min=2, max=10**6, help="Classes of the network.")] = 10,
    weights: Annotated[Path | None, typer.Option(help="Weights of the trained model.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Look at images of this folder, not at random numbers.")
    ] = None,
    size: common.ImageSize = 224,
    head: Annotated[str | None, typer.Option(help="Name of the head, if not found.")] = None,
    feature_layer: Annotated[str | None, typer.Option(help="Name of the feature layer.")] = None,
) -> None:
    """Say where head and feature maps of a network are, and what sparsify would replace."""
    network = build(model, n_classes).eval()
    if weights is not None:
        load_weights(network, weights)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, size, size, generator=generator)
    if data is not None:
        folder = ImageFolder(common.part(data, "train"), size)
        x = torch.stack([folder[i][0] for i in range(min(2, len(folder)))])
    found = find_head(network, x, head=head, feature_layer=feature_layer)
    with observe(network, found) as seen:
        run(network, x, 0)
    parameters = sum(p.numel() for p in network.parameters())
    module = found.modules(network)[0]
    lost = sum(p.numel() for p in module.parameters())
    shape = "none: features have values, not places"
    pooling = "–"
    if seen.maps is not None and found.layout is not None:
        size_of_maps = " × ".join(map(str, seen.maps.shape[2:]))
        shape = f"{found.layer}: {found.n_features} maps of {size_of_maps}"
        pooling = found.layout.pooling + (" after a norm" if found.norm else "")
    rows = {
        "network": f"{type(network).__name__}, {parameters:,} parameters",
        "head": f"{found.name}, a {type(module).__name__} of {found.n_features} features",
        "feature maps": shape,
        "pooling": pooling,
        "replaced": f"{found.name} ({lost:,} parameters) by a selection of its features and a 0/1 "
        f"assignment to {found.n_classes} classes",
        "left out": ", ".join(found.dropouts) or "nothing",
    }
    for title, text in rows.items():
        common.console.print(f"{title:<13} {text}", soft_wrap=True)
