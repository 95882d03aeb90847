"""How the output of a layer is read as feature maps, and how those become pooled features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import torch
from torch import Tensor

from qpopt_torch.errors import ModelError

PREFIXES = (0, 1, 2, 5)
"""Numbers of tokens that stand before the patches: none, a class token, one more, registers."""


@dataclass(frozen=True)
class Layout:
    """Where the channels and positions of a layer's output are, and how it is pooled.

    Parameters
    ----------
    channels
        Whether the channels come first (N, D, …) or last (N, …, D).
    pooling
        `mean` or `max` over the positions; `token` when the first token is the feature and the
        patch tokens are the map.
    prefix
        How many tokens before the patches are no positions.
    relu
        Whether a ReLU that is no module of its own lies between the output and the pooling.
    masked
        Whether the pooling leaves out positions that only fill the batch up.
    """

    channels: Literal["first", "last"]
    pooling: Literal["mean", "max", "token"] = "mean"
    prefix: int = 0
    relu: bool = False
    masked: bool = False

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Layout:
        """Rebuild a layout from its values; ModelError where one is not possible."""
        layout = cls(**values)
        fine = (
            isinstance(layout.channels, str)
            and layout.channels in ("first", "last")
            and isinstance(layout.pooling, str)
            and layout.pooling in ("mean", "max", "token")
            and type(layout.prefix) is int
            and layout.prefix >= 0
            and type(layout.relu) is bool
            and type(layout.masked) is bool
        )
        if not fine:
            raise ModelError(f"There is no {layout}.")
        return layout

    def maps(self, output: Tensor, *, like: Tensor | None = None) -> Tensor:
        """Return the feature maps, N × channels × positions, of the output of the feature layer.

        If the input of the model is given, tokens are laid out as a grid of its proportions.
        """
        if self.channels == "last":
            output = output[:, self.prefix :].movedim(-1, 1)
        if self.relu:
            output = torch.relu(output)
        if self.channels == "last" and output.ndim == 3 and like is not None:
            grid = token_grid(output.shape[2], like)
            output = output if grid is None else output.reshape(*output.shape[:2], *grid)
        return output

    def is_grid(self, maps: Tensor | None, like: Tensor) -> bool:
        """Whether neighbouring positions of the maps are neighbours in the input."""
        return self.channels == "first" or (maps is not None and maps.ndim == like.ndim)

    def pool(self, output: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the pooled features, N × channels, of the output of the feature layer.

        `mask` says which positions of the output are there.
        """
        if self.pooling == "token":
            return torch.relu(output[:, 0]) if self.relu else output[:, 0]
        positions = self.maps(output).flatten(2)
        there = self.there(positions, mask) if self.masked else None
        if there is None:
            return positions.amax(2) if self.pooling == "max" else positions.mean(2)
        if self.pooling == "max":
            return positions.masked_fill(~there[:, None], -torch.inf).amax(2)
        inside = positions.masked_fill(~there[:, None], 0.0)
        return inside.sum(2) / there.sum(1).clamp(min=1)[:, None]

    def there(self, maps: Tensor, mask: Tensor | None) -> Tensor | None:
        """Return which positions of maps are there; None where all are, or the mask is of others.

        A mask covers the positions of the layer's output, and with them tokens before the patches.
        """
        if mask is None or maps.ndim != 3:
            return None
        mask = mask[:, self.prefix :]
        return mask if mask.shape == (len(maps), maps.shape[2]) else None


def token_grid(n_tokens: int, like: Tensor) -> tuple[int, int] | None:
    """Return the rows and columns into which `n_tokens` patches of an image-like input fall.

    None when the input has no height and width, or no grid has its proportions.
    """
    if like.ndim != 4:
        return None
    height, width = like.shape[-2:]
    rows = round((n_tokens * height / width) ** 0.5)
    if rows < 1 or n_tokens % rows:
        return None
    columns = n_tokens // rows
    # Patches are whole, so a grid may miss the proportions by less than one of them.
    if abs(columns - rows * width / height) >= 1:
        return None
    return rows, columns


def layouts(shape: torch.Size, n_features: int) -> Iterator[Layout]:
    """Yield every reading of an output of this shape as maps of `n_features` channels."""
    if len(shape) < 3 or prod(shape[1:]) <= n_features:
        return
    for relu in (False, True):
        if shape[1] == n_features:
            yield Layout("first", "mean", relu=relu)
            yield Layout("first", "max", relu=relu)
        if shape[-1] != n_features:
            continue
        if len(shape) > 3:
            yield Layout("last", "mean", relu=relu)
            yield Layout("last", "max", relu=relu)
            continue
        for prefix in PREFIXES:
            if shape[1] > prefix:
                yield Layout("last", "mean", prefix, relu)
            if shape[1] > prefix > 0:
                yield Layout("last", "token", prefix, relu)
        yield Layout("last", "max", relu=relu)
