"""name_features: names from attributes that people have named, or from any other source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpopt_torch.errors import LoaderError, ModelError, require_sparse, shown
from qpopt_torch.metrics.explanations.local_alignment import local_alignment
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.sets.answers import answers_of

PRESENT = 0.5
"""An attribute counts as present in a class when more than this share of people saw it."""


def name_features(
    sparse: SparseClassifier,
    source: Callable[[int], str | None] | None = None,
    *,
    loader: Iterable[Any] | None = None,
    attributes: ArrayLike | None = None,
    attribute_names: Sequence[str] | None = None,
    progress: bool = True,
) -> dict[int, str]:
    """Name the features of a model that have no name, and return these names.

    Parameters
    ----------
    sparse
        A sparse classifier.
    source
        A function that is given the index of a feature in the dense model and returns its name, or
        None where it knows none; in place of attributes.
    loader
        Batches of inputs and labels that show what features follow.
    attributes
        What people say of the classes, classes × attributes, from 0 to 1. Every feature is named
        after the one that raises it most, with its r (see `LocalAlignment`) among all classes and
        a question mark, since it is a guess: as in "red wing? (r 0.81)".
    attribute_names
        What the attributes are called.
    progress
        Whether to show a progress bar on a terminal.

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
    >>> first, *_ = qpopt_torch.name_features(sparse, lambda d: f"channel {d}").values()
    >>> first.startswith("channel")
    True
    """
    if (source is None) == (attributes is None):
        raise ModelError("name_features takes either a function or attributes.")
    require_sparse(sparse, "name_features")
    free = [int(d) for d in sparse.selection if int(d) not in sparse.feature_names]
    if source is not None:
        if not callable(source):
            raise ModelError(f"name_features takes a function, not {shown(source)}.")
        told = {d: source(d) for d in free}
        for name in told.values():
            if name is not None and not isinstance(name, str):
                raise ModelError(f"A name is a text, or None for no name, not {shown(name)}.")
        found = {d: name for d, name in told.items() if name}
    else:
        if loader is None or attributes is None or attribute_names is None:
            raise ModelError("Names from attributes need a loader and attribute_names.")
        found = _guessed(sparse, free, loader, attributes, attribute_names, progress)
    sparse.rename_features(_distinct(found, set(sparse.feature_names.values())))
    return {d: sparse.feature_names[d] for d in found}


def _guessed(
    sparse: SparseClassifier,
    free: list[int],
    loader: Iterable[Any],
    attributes: ArrayLike,
    attribute_names: Sequence[str],
    progress: bool,
) -> dict[int, str]:
    try:
        known, names = np.asarray(attributes, dtype=np.float64), [str(n) for n in attribute_names]
    except (TypeError, ValueError, OverflowError):
        raise LoaderError(
            "attributes must hold a number for every class and attribute, and attribute_names as "
            "many names."
        ) from None
    if known.shape != (sparse.head.n_classes, len(names)):
        raise LoaderError(
            f"attributes have the shape {known.shape}; there are {sparse.head.n_classes} classes "
            f"and {len(names)} attribute_names."
        )
    answers, labels = answers_of(sparse, loader, title="names", progress=progress)
    found = local_alignment(answers.values, labels, known > PRESENT, sparse.assignment).overall()
    guesses = {}
    for column, d in enumerate(sparse.selection.tolist()):
        r = np.nan_to_num(found[column], nan=-np.inf)
        if d in free and r.max() > 0:
            guesses[d] = f"{names[int(r.argmax())]}? (r {r.max():.2f})"
    return guesses


def _distinct(names: dict[int, str], taken: set[str]) -> dict[int, str]:
    """Return names of which later ones that are there already are numbered."""
    made: dict[int, str] = {}
    for d, name in names.items():
        number, new = 2, name
        while new in taken:
            number, new = number + 1, f"{name} {number}"
        made[d] = new
        taken.add(new)
    return made
