"""The files of a sparse classifier.

A directory holds ``weights.safetensors`` (parameters and buffers, selection and assignment among
them), ``config.json`` (where the head is, counts, names) and, where it is known, ``solution.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from qpopt import InvalidFile
from qpopt.io import AnyPath, opened_json, replacing, save_json
from qpopt_torch.errors import UNREADABLE, ModelError, path_of, reason
from qpopt_torch.network.head import Head
from qpopt_torch.network.specification import described
from qpopt_torch.sparse.consistency import check_adapter, check_config, check_selection, seal

if TYPE_CHECKING:
    from qpopt_torch.sparse.classifier import SparseClassifier

WEIGHTS, CONFIG, SOLUTION = "weights.safetensors", "config.json", "solution.json"


def made_folder(path: AnyPath) -> Path:
    """Return a directory, which is made if need be."""
    folder = folder_of(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InvalidFile(f"Cannot make the directory {str(folder)!r}: {reason(error)}.") from error
    return folder


def folder_of(path: AnyPath) -> Path:
    """Return the path of a directory; nothing else is taken for one."""
    return path_of(path, "A directory")


def config_of(sparse: SparseClassifier, *, uneven: bool) -> dict[str, Any]:
    """Return what config.json says of a model; `uneven` if classes have several numbers."""
    head = sparse.sparse_head
    config = {
        "architecture": type(sparse.network).__name__,
        **described(sparse.network),
        **sparse.record.to_dict(),
        "head": sparse.head.to_dict(),
        "n_select": len(head.selection),
        "dropout": head.dropout.p,
        "hidden": None if head.adapter is None else head.adapter.hidden,
        "class_names": sparse.class_names,
        "feature_names": {str(d): name for d, name in sparse.feature_names.items()},
        "solution": sparse.solution is not None,
        **sparse.calibration(),
    }
    if head.relu:
        config["relu"] = True
    if uneven:
        config["uneven"] = True
    if head.adapter is not None and head.adapter.relu:
        config["adapter_relu"] = True
    if finer := getattr(sparse.network, "finer_maps", None):
        config["finer_maps"] = finer
    return config


def save_model(folder: Path, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> None:
    """Write weights and configuration."""
    # Copies, because tensors that share memory cannot be stored.
    copies = {key: value.detach().clone().contiguous() for key, value in state.items()}
    weights = safetensors.torch.save(copies)
    with replacing(folder / WEIGHTS) as stream:
        stream.write(weights)
    save_json(folder / CONFIG, "sparse-classifier", {**config, "seal": seal(config, weights)})


def read_model(folder: Path) -> tuple[Mapping[str, Any], Head, dict[str, Tensor]]:
    """Read what `save_model` wrote: configuration, head, and the state of the network.

    Raises
    ------
    InvalidFile
        If a file is missing or damaged, or the two do not belong together.
    """
    with opened_json(folder / CONFIG, "sparse-classifier") as config:
        head = check_config(config)
    try:
        weights = (folder / WEIGHTS).read_bytes()
        state = safetensors.torch.load(weights)
    except (*UNREADABLE, SafetensorError) as error:
        raise InvalidFile(f"Cannot read {folder / WEIGHTS}: {reason(error)}.") from error
    inside = {key.removeprefix("network."): value for key, value in state.items()}
    own = {
        key.removeprefix(f"{head.name}."): value
        for key, value in inside.items()
        if key.startswith(f"{head.name}.")
    }
    with explained(folder):
        check_selection(own, head, config["n_select"], uneven=config.get("uneven", False))
        check_adapter(own, head, config["hidden"])
        if seal(config, weights) != config["seal"]:
            raise ModelError(
                f"{WEIGHTS} and {CONFIG} were not written together, or one was changed since."
            )
    return config, head, inside


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what is wrong with the content of a folder into InvalidFile that names it."""
    try:
        yield
    except ModelError as error:
        raise InvalidFile(f"{folder} holds no classifier that can be used: {error}") from error
