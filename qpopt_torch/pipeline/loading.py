"""load: a saved sparse classifier, with its network where that can be built."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from qpopt.io import AnyPath
from qpopt_torch.errors import ModelError
from qpopt_torch.metrics.summary import Metrics
from qpopt_torch.network.builders import load_state, rebuild
from qpopt_torch.network.geometry import apply_changes
from qpopt_torch.network.observation import unwrap
from qpopt_torch.network.reading.outputs import Output, check_output
from qpopt_torch.network.specification import OWN, Specification
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.consistency import check_network, checked_solution
from qpopt_torch.sparse.record import Record
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.sparse.storage import SOLUTION, explained, folder_of, read_model
from qpopt_torch.training.loop import History


def load(
    directory: AnyPath, model: nn.Module | None = None, *, output: Output = None
) -> SparseClassifier:
    """Restore a sparse classifier that `SparseClassifier.save` wrote.

    Parameters
    ----------
    directory
        Where it was saved.
    model
        A freshly built model of the same architecture; its weights do not matter. It is copied,
        and the copy is in evaluation mode. None builds it as config.json says, which is possible
        for models of timm, torchvision and transformers, and for those that a function made whose
        name is known, as `qpopt_torch.build` gives them.
    output
        The function that picks one of several outputs, where the model was made with one; names and
        places are known without it.

    Raises
    ------
    InvalidFile
        If a file is missing or damaged, or the files do not belong together.
    ModelError
        If the model is another architecture, where it says which weights do not fit, or cannot be
        built, where it says what to pass.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sparse.save(folder)
    ...     again = qpopt_torch.load(folder, model)
    >>> again.class_features(0) == sparse.class_features(0)
    True
    """
    folder = folder_of(directory)
    config, head, state = read_model(folder)
    check_output(output)
    head = head if output is None else replace(head, output=output)
    n_select, hidden = config["n_select"], config["hidden"]
    selection, zeros = np.arange(n_select), np.zeros(n_select)
    nothing, every = np.zeros((head.n_classes, n_select)), np.zeros(head.n_features)
    options = {"dropout": config["dropout"], "relu": config.get("relu", False)}
    blank = SparseHead(selection, nothing, zeros, zeros, **options)
    if hidden is not None:
        blank.adapter = Adapter(
            every, every, selection, hidden=hidden, relu=config.get("adapter_relu", False)
        )
    if (bias := state.get(f"{head.name}.class_bias")) is not None:
        blank.register_buffer("class_bias", bias.clone())
    core = _built(config, folder, head.n_classes) if model is None else unwrap(model)
    if (finer := config.get("finer_maps", [])) and not hasattr(core, "finer_maps"):
        core = deepcopy(core)
        with explained(folder):
            for changes in finer:
                apply_changes(core, changes)
    sparse = SparseClassifier(core, head, blank, class_names=config["class_names"])
    load_state(sparse.network, state, f"in {folder}, of {config['architecture']},")
    with explained(folder):
        check_network(sparse.network, head)
        sparse.restore_calibration(config)
        sparse.rename_features({int(d): name for d, name in config["feature_names"].items()})
        sparse.record = _record(config)
    if config["solution"]:
        found = sparse.selection, sparse.assignment
        sparse.solution = checked_solution(folder / SOLUTION, *found)
    return sparse.eval()


def _built(config: Mapping[str, Any], folder: Path, n_classes: int) -> nn.Module:
    """Build the network as its file says, or say what to pass."""
    name = config.get("model", OWN)
    advice = (
        f"pass it, freshly built: qpopt_torch.load({str(folder)!r}, model), or --model on the "
        "command line"
    )
    if name.startswith(OWN):
        raise ModelError(
            f"{folder} holds the weights of {config['architecture']}, {OWN}, but not how that is "
            f"built; {advice}."
        )
    try:
        return rebuild(Specification(name, config.get("arguments", {})), n_classes)
    except ModelError as error:
        raise ModelError(f"The network of {folder} cannot be built; {advice}. {error}") from error


def _record(config: Mapping[str, Any]) -> Record:
    """Return what a file tells of the making of a model."""
    record = Record.from_dict(config)
    known = [field.name for field in fields(Metrics)]
    for name, values in config.get("metrics", {}).items():
        record.metrics[name] = Metrics(**{key: values.get(key) for key in known})
    if (history := config.get("history")) is not None:
        record.history = History(history["epochs"], history["stopped"])
    return record
