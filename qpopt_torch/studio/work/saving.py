"""An answer as a model: the network with its head and the adapter that makes it accurate."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from qpopt_torch.errors import ModelError
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.studio.state import State
from qpopt_torch.studio.work.cache import Cached
from qpopt_torch.studio.work.measuring import ADAPTER
from qpopt_torch.training.adapter_training import train_adapter


def steered(
    model: SparseClassifier, cached: Cached, state: State, names: Mapping[int, str]
) -> SparseClassifier:
    """Return a copy of a model that decides as a state says, with a linear adapter.

    Parameters
    ----------
    model
        The model that was opened.
    cached
        The features of its samples.
    state
        The answer.
    names
        Names of features; those of features that are not selected are passed over.
    """
    if not state.sets:
        raise ModelError(f"{state.name} has no answer that could be saved.")
    rows: list[Any] = [list(row) for row in state.sets]
    head = cached.head(list(state.selection), rows)
    train_adapter(head, cached.features, cached.labels, ADAPTER, progress=False)
    plain = deepcopy(model)
    made = SparseClassifier(plain.network, plain.head, head, class_names=model.class_names)
    kept = {d: name for d, name in {**model.feature_names, **names}.items() if d in state.selection}
    made.rename_features(kept)
    return made.eval()
