"""The files of a sparse classifier.

A directory holds ``weights.safetensors`` (parameters and buffers, selection and assignment among
them), ``config.json`` (where the head is, counts, names) and, where it is known, ``solution.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from qpopt import InvalidFile
from qpopt.io import opened_json, replacing, save_json
from qpopt_torch.errors import ModelError

WEIGHTS, CONFIG, SOLUTION = "weights.safetensors", "config.json", "solution.json"
SHOWN = 5


def made_folder(path: str | PathLike[str]) -> Path:
    """Return a directory, which is made if need be."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"Cannot make the directory {folder}: {error.strerror}.") from error
    return folder


def save_model(folder: Path, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> None:
    """Write weights and configuration."""
    # Copies, because tensors that share memory cannot be stored.
    copies = {key: value.detach().clone().contiguous() for key, value in state.items()}
    with replacing(folder / WEIGHTS) as stream:
        stream.write(safetensors.torch.save(copies))
    save_json(folder / CONFIG, "sparse-classifier", config)


@contextmanager
def opened_model(folder: Path) -> Iterator[tuple[Any, dict[str, Tensor]]]:
    """Open what `save_model` wrote; errors of reading it in the block are InvalidFile."""
    with opened_json(folder / CONFIG, "sparse-classifier") as config:
        try:
            state = safetensors.torch.load((folder / WEIGHTS).read_bytes())
        except (OSError, SafetensorError, ValueError) as error:
            raise InvalidFile(f"Cannot read {folder / WEIGHTS}: {error}.") from error
        yield config, state


def check_fit(
    own: Mapping[str, Tensor], state: Mapping[str, Tensor], architecture: str, saved: str
) -> None:
    """Raise an error that says exactly which weights of a file (`state`, `saved`) do not fit."""
    problems = []
    for what, keys in (
        ("missing in the file", sorted(own.keys() - state.keys())),
        ("unknown to the model", sorted(state.keys() - own.keys())),
    ):
        if keys:
            problems.append(f"{len(keys)} {what}: {_some(keys)}")
    shapes = [
        f"{key} {tuple(own[key].shape)} instead of {tuple(state[key].shape)}"
        for key in sorted(own.keys() & state.keys())
        if own[key].shape != state[key].shape
    ]
    if shapes:
        problems.append(f"{len(shapes)} of another shape: {_some(shapes)}")
    if problems:
        raise ModelError(
            f"The weights were saved from {saved} and do not fit this {architecture}: "
            f"{'; '.join(problems)}."
        )


def _some(items: list[str]) -> str:
    more = f", … ({len(items) - SHOWN} more)" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
