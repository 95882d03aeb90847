"""The one loop over a loader: batches of any usual form, and what is wrong with them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, IterableDataset

from qpopt.control.progress import Bar
from qpopt_torch.data.distributed import is_first, repeated_samples
from qpopt_torch.data.inputs import LABEL_KEYS, Batch, Inputs, fitted
from qpopt_torch.data.unpacking import Unpacked
from qpopt_torch.errors import EmptyLoader, LoaderError, shown

logger = logging.getLogger("qpopt")

Part = TypeVar("Part")


def batches(
    loader: Iterable[Any],
    model: nn.Module,
    n_classes: int | None = None,
    *,
    begun: Iterable[Any] | None = None,
    repeated: bool = False,
    empty: bool = False,
    title: str = "",
    progress: bool = True,
) -> Iterator[tuple[Batch, Tensor]]:
    """Yield inputs and labels of every batch, checked and on the device of a model.

    Parameters
    ----------
    loader
        Batches of inputs and labels.
    model
        Its first parameter tells device and precision.
    n_classes
        The number of classes; without it, labels are not checked.
    begun
        The batches of the loader, as `begin` gives them, if some were looked at before.
    repeated
        Whether to give samples that a DistributedSampler repeats to give all ranks as many.
    empty
        Whether no batch at all is fine, as it is for one of several ranks.
    title
        What the bar says; there is none without it.
    progress
        Whether to show a progress bar on a terminal.

    Raises
    ------
    LoaderError
        If there are no batches, or they cannot be used.
    """
    require_batches(loader, "The loader")
    left = None
    if not repeated and (n_repeated := repeated_samples(loader)):
        logger.warning("Leaving out %d samples that the DistributedSampler repeats.", n_repeated)
        left = len(loader.sampler) - n_repeated  # type: ignore[attr-defined]
    number = -1
    shown = progress and bool(title) and is_first()
    with Bar(title, batch_count(loader), progress=shown) as bar:
        for number, batch in enumerate(loader if begun is None else begun):
            x, y = split(batch, number, model)
            if left is not None:
                x, y = x[:left], y[:left]
                left -= len(x)
            if n_classes is not None:
                y = check_labels(y, len(x), n_classes, number)
            x = to_model(x, model)
            if left is None or len(x):
                yield x, y.to(x.device)
            bar.advance()
    if left:
        raise LoaderError("The loader gave fewer samples than its DistributedSampler.")
    if number < 0 and not empty:
        raise nothing_in(loader)


def in_groups(reading: Iterable[Part], size: int) -> Iterator[list[Part]]:
    """Yield so many batches at a time; the last group may have fewer."""
    reading = iter(reading)
    while group := list(islice(reading, size)):
        yield group


def begin(loader: Iterable[Any], model: nn.Module) -> tuple[Batch, Iterator[Any]]:
    """Return the inputs of the first batch, and all batches, the first among them."""
    require_batches(loader, "The loader")
    reading = iter(loader)
    for first in reading:
        return to_model(split(first, 0, model)[0], model), chain([first], reading)
    raise nothing_in(loader)


def first_batch(loader: Iterable[Any], model: nn.Module) -> tuple[Batch, Tensor]:
    """Return inputs and labels of the first batch, the inputs on the device of a model."""
    x, begun = begin(loader, model)
    return x, split(next(iter(begun)), 0, model)[1]


def split(batch: Any, number: int, model: nn.Module | None = None) -> tuple[Batch, Tensor]:
    """Return inputs and labels of a batch: a mapping, or a sequence. Errors name it by its number.

    Inputs are as a model takes them, where it is given; see `fitted`.
    """
    if isinstance(batch, Mapping):
        keys = [key for key in LABEL_KEYS if key in batch]
        inputs = {key: batch[key] for key in batch if key not in LABEL_KEYS}
        if len(keys) != 1 or not inputs:
            raise LoaderError(
                f"Batch {number} is a mapping with the keys {', '.join(map(str, batch))}; it "
                f"needs inputs and one of {', '.join(LABEL_KEYS)}. With other names, pass "
                "head={'unpack': a function of a batch that returns inputs and labels}."
            )
        # One input needs no name that the model knows, whatever it is.
        alone = len(inputs) == 1 and model is None
        given, y = (next(iter(inputs.values())) if alone else inputs), batch[keys[0]]
    elif isinstance(batch, Sequence) and not isinstance(batch, str) and len(batch) >= 2:
        given, y = batch[0], batch[1]
        if len(batch) > 2 and not _may_be_labels(y) and _may_be_labels(batch[-1]):
            given, y = tuple(batch[:-1]), batch[-1]
    else:
        raise LoaderError(
            f"Batch {number} is {type(batch).__name__}; every batch must be (inputs, labels) or "
            "a mapping that holds both."
        )
    x = fitted(given, model, number)
    if (isinstance(x, Tensor) and not x.ndim) or not len(x):
        raise LoaderError(f"Batch {number} has no samples; leave it out.")
    labels = _label_tensor(y, number)
    if not labels.ndim:
        raise LoaderError(
            f"Batch {number} is a single sample, with the label {labels.item()!r}; pass a "
            "DataLoader, which puts samples into batches."
        )
    return x, labels


def _may_be_labels(values: Any) -> bool:
    """Whether these are whole numbers, one for each sample."""
    whole = isinstance(values, Tensor) and not (values.is_floating_point() or values.is_complex())
    return whole and values.ndim == 1


def _label_tensor(values: Any, number: int) -> Tensor:
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError):
        kind = type(values).__name__
        if isinstance(values, Sequence) and values and not isinstance(values, str):
            kind = f"{kind} of {type(values[0]).__name__}"
        raise LoaderError(
            f"The labels of batch {number} are a {kind}; they must be whole class numbers."
        ) from None


def check_labels(labels: Tensor, n_samples: int, n_classes: int, number: int) -> Tensor:
    """Return the labels as int64, or say what is wrong with them."""
    if labels.ndim == 2 and labels.shape[1] == n_classes and n_classes > 1:
        if not labels.is_complex() and ((labels != 0).sum(1) != 1).any() and _is_binary(labels):
            raise LoaderError(
                f"The labels of batch {number} are multi-label targets: some samples have several "
                "classes, or none. Every sample must have exactly one class."
            )
        raise LoaderError(
            f"The labels of batch {number} have the shape {tuple(labels.shape)}: one-hot or soft "
            "labels. Pass class numbers, for example labels.argmax(1)."
        )
    if labels.shape != (n_samples,):
        raise LoaderError(
            f"The labels of batch {number} have the shape {tuple(labels.shape)}; {n_samples} "
            "samples need one class number each."
        )
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise LoaderError(
            f"The labels of batch {number} are {labels.dtype}; they must be whole class numbers."
        )
    if len(labels) and not (labels.min() >= 0 and labels.max() < n_classes):
        wrong = labels[(labels < 0) | (labels >= n_classes)][0].item()
        raise LoaderError(
            f"Batch {number} has the label {wrong}; the model knows the classes 0 to "
            f"{n_classes - 1}."
        )
    return labels.long()


def _is_binary(labels: Tensor) -> bool:
    return bool(((labels == 0) | (labels == 1)).all())


def check_features(
    features: Any, labels: Any, n_classes: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return features that are at hand, and their labels as int64, or say what is wrong.

    Without `n_classes` there is one class more than the largest label.
    """
    features, labels = _numbers("Features", features), _numbers("Labels", labels)
    if features.ndim != 2 or not len(features):
        raise LoaderError(
            "Features must be samples × features, at least one; their shape is "
            f"{tuple(features.shape)}."
        )
    if not (finite := torch.isfinite(features).all(1)).all():
        raise LoaderError(f"The features of sample {int(finite.int().argmin())} are not finite.")
    if n_classes is None:
        n_classes = int(labels.max()) + 1 if labels.numel() else 0
    return features, check_labels(labels, len(features), n_classes, 0)


def _numbers(label: str, values: Any) -> Tensor:
    try:
        found = values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))
    except (TypeError, ValueError, RuntimeError):
        found = None
    if found is None or found.is_complex():
        raise LoaderError(f"{label} must be numbers, not {shown(values)}.")
    return found


def to_model(x: Batch, model: nn.Module) -> Batch:
    """Move inputs to the device of a model and, if they are floats, to its precision."""
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    if parameter is None:
        return x
    device, precision = parameter.device, parameter.dtype

    def moved(value: Tensor) -> Tensor:
        dtype = precision if value.is_floating_point() else None
        return value.to(device=device, dtype=dtype, non_blocking=True)

    return x.map_tensors(moved) if isinstance(x, Inputs) else moved(x)


def batch_count(loader: Iterable[Any]) -> int | None:
    """Return the number of batches, or None where the loader does not know it."""
    try:
        return len(loader) if isinstance(loader, Sized) else None
    except TypeError:  # a DataLoader of an iterable data set has a length only in name
        return None


def require_batches(loader: Any, name: str) -> None:
    """Raise unless a loader is something that gives batches; nothing is read."""
    loader = loader.packed if isinstance(loader, Unpacked) else loader
    if isinstance(loader, Dataset) and not isinstance(loader, IterableDataset):
        raise LoaderError(
            f"{name} is a data set ({type(loader).__name__}), which gives single samples; pass "
            "DataLoader(dataset, batch_size=32)."
        )
    wrong = isinstance(loader, (str, bytes, Mapping, Tensor, nn.Module))
    if wrong or not isinstance(loader, Iterable):
        raise LoaderError(
            f"{name} is {type(loader).__name__}; pass a DataLoader or a list of batches."
        )


def require_rereadable(loader: Any, name: str, why: str) -> None:
    """Raise unless a loader gives batches, and can be read more than once."""
    require_batches(loader, name)
    if isinstance(loader.packed if isinstance(loader, Unpacked) else loader, Iterator):
        raise LoaderError(
            f"{name} is an iterator, which can be read only once, but {why}; pass a DataLoader or "
            "a list of batches."
        )


def nothing_in(loader: Iterable[Any]) -> EmptyLoader:
    """Return the error for a loader that gave no batch."""
    if not isinstance(loader, Iterator):
        return EmptyLoader("The loader is empty: it gave no batch.")
    return EmptyLoader(
        "The loader gave no batch: it is an iterator that has been read to its end before; pass "
        "a DataLoader or a list of batches."
    )
