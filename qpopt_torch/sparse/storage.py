"""Saving a sparse classifier, and restoring it on a freshly built backbone.

A directory holds ``weights.safetensors`` (parameters and buffers, selection and assignment among
them), ``config.json`` (where the head is, counts, names) and, where it is known, ``solution.json``.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor, nn

from qpopt import InvalidFile, Solution, __version__
from qpopt.io.archive import replacing
from qpopt_torch.errors import ModelError
from qpopt_torch.network.head import Head
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.sparse.classifier import SparseClassifier, SparseHead

FORMAT = "qpopt-sparse-classifier"
FORMAT_VERSION = 1
WEIGHTS, CONFIG, SOLUTION = "weights.safetensors", "config.json", "solution.json"
SHOWN = 5


def save(model: SparseClassifier, directory: str | PathLike[str]) -> None:
    """Write a sparse classifier to a directory, which is made if need be."""
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"Cannot make the directory {folder}: {error.strerror}.") from error
    head = model.sparse_head
    config = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "qpopt": __version__,
        "architecture": type(model.backbone).__name__,
        "head": model.head.to_dict(),
        "n_select": len(head.selection),
        "dropout": head.dropout.p,
        "adapter": None if head.adapter is None else head.adapter.config,
        "class_names": model.class_names,
        "feature_names": {str(d): name for d, name in model.feature_names.items()},
    }
    # Copies, because tensors that share memory cannot be stored.
    state = {key: value.detach().clone().contiguous() for key, value in model.state_dict().items()}
    with replacing(folder / WEIGHTS) as stream:
        stream.write(safetensors.torch.save(state))
    if model.solution is not None:
        model.solution.save(folder / SOLUTION)
    with replacing(folder / CONFIG) as stream:
        stream.write(json.dumps(config, indent=1).encode())


def load(directory: str | PathLike[str], model: nn.Module) -> SparseClassifier:
    """Restore a sparse classifier that `SparseClassifier.save` wrote.

    Parameters
    ----------
    directory
        Where it was saved.
    model
        A freshly built model of the same architecture; its weights do not matter. It is copied.

    Returns
    -------
    SparseClassifier
        In evaluation mode.

    Raises
    ------
    InvalidFile
        If a file is missing or damaged.
    ModelError
        If the model is another architecture; it says which weights do not fit.
    """
    folder = Path(directory)
    config = _read_config(folder / CONFIG)
    try:
        state = safetensors.torch.load((folder / WEIGHTS).read_bytes())
    except (OSError, SafetensorError, ValueError) as error:
        raise InvalidFile(f"Cannot read {folder / WEIGHTS}: {error}.") from error
    try:
        head = Head.from_dict(config["head"])
        n_select = config["n_select"]
        adapter = config["adapter"]
        blank = np.zeros(n_select)
        sparse_head = SparseHead(
            np.arange(n_select),
            np.zeros((head.n_classes, n_select)),
            blank,
            blank,
            dropout=config["dropout"],
            adapter=None if adapter is None else Adapter.blank(**adapter),
        )
        names = config["class_names"]
    except (KeyError, TypeError) as error:
        raise InvalidFile(f"{folder / CONFIG} is damaged: {error!r}.") from error
    stored = folder / SOLUTION
    solution = Solution.load(stored) if stored.exists() else None
    sparse = SparseClassifier(model, head, sparse_head, solution=solution, class_names=names)
    _check_fit(sparse.state_dict(), state, type(sparse.backbone).__name__, config)
    sparse.load_state_dict(state)
    sparse.feature_names = {int(d): name for d, name in config.get("feature_names", {}).items()}
    return sparse.eval()


def _read_config(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InvalidFile(f"{path} does not exist; pass a directory that save() wrote.")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{path} is damaged: {error}.") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InvalidFile(f"{path} does not describe a sparse classifier of qpopt.")
    if config.get("version", 0) > FORMAT_VERSION:
        raise InvalidFile(
            f"{path} has format version {config['version']}; this qpopt reads up to "
            f"{FORMAT_VERSION}. Upgrade qpopt."
        )
    return config


def _check_fit(
    own: dict[str, Tensor], state: dict[str, Tensor], name: str, config: dict[str, Any]
) -> None:
    """Raise an error that says exactly which weights do not fit."""
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
            f"The weights were saved from {config.get('architecture')} and do not fit this "
            f"{name}: {'; '.join(problems)}."
        )


def _some(items: list[str]) -> str:
    more = f", … ({len(items) - SHOWN} more)" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
