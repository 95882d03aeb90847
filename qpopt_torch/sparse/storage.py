"""The files of a sparse classifier.

A directory holds ``weights.safetensors`` (parameters and buffers, selection and assignment among
them), ``config.json`` (where the head is, counts, names) and, where it is known, ``solution.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from qpopt import InvalidFile
from qpopt.io import AnyPath, opened_json, replacing, save_json

WEIGHTS, CONFIG, SOLUTION = "weights.safetensors", "config.json", "solution.json"


def made_folder(path: AnyPath) -> Path:
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
