"""first_look: all that one batch of every loader can tell, before hours are spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from qpopt import InvalidInstance
from qpopt_torch.data.batches import check_labels, first_batch
from qpopt_torch.data.class_names import checked_class_names
from qpopt_torch.errors import LoaderError, ModelError
from qpopt_torch.network.head import Head
from qpopt_torch.network.head_finder import HeadLike, head_of
from qpopt_torch.network.observation import evaluating, run
from qpopt_torch.network.reading.outputs import logits_of
from qpopt_torch.sparse.record import Record, record_of


def first_look(
    model: nn.Module,
    plain: Iterable[Any],
    head: HeadLike,
    class_names: Sequence[str] | None,
    loaders: Mapping[str, Iterable[Any]],
    preparing: Mapping[str, Any],
) -> tuple[Head, Record]:
    """Find the head in one batch, and check by it what needs the numbers of features and classes.

    Parameters
    ----------
    model
        The model, without wrappers.
    plain
        The loader that statistics are taken from.
    head, class_names
        As given to the pipeline.
    loaders
        All loaders by name; one batch of each is looked at.
    preparing
        Arguments of `Statistics.instance`.

    Returns
    -------
    tuple
        The head, and what is known of the inputs.

    Raises
    ------
    ModelError, LoaderError, InvalidArgument, InvalidInstance
        Whatever is wrong first.
    """
    x, y = first_batch(plain, model)
    found = head_of(model, x, head)
    checked_class_names(class_names, found.n_classes)
    check_labels(y, len(x), found.n_classes, 0)
    for name, loader in loaders.items():
        if loader is not plain:
            _check(model, name, loader, found)
    bias, hint = preparing.get("bias", "none"), tuple(preparing.get("hint", ()))
    if not isinstance(bias, str) and not callable(bias) and len(bias) != found.n_features:
        raise InvalidInstance(
            f"bias must hold one value for each of the {found.n_features} features; it holds "
            f"{len(bias)}."
        )
    if hint and max(hint) >= found.n_features:
        raise InvalidInstance(f"hint names feature {max(hint)}; there are only {found.n_features}.")
    return found, record_of(plain, x)


def _check(model: nn.Module, name: str, loader: Iterable[Any], head: Head) -> None:
    """Raise, with the name of the loader, if the model cannot take its first batch."""
    try:
        x, y = first_batch(loader, model)
        check_labels(y, len(x), head.n_classes, 0)
        with evaluating(model), torch.no_grad():
            logits_of(run(model, x, 0), head.output)
    except (LoaderError, ModelError) as error:
        raise type(error)(f"{name}: {error}") from error
