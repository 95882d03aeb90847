"""Reading batches of any usual form, and saying clearly what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.errors import LoaderError

LABEL_KEYS = ("labels", "label", "target", "targets")


def split(batch: Any, number: int) -> tuple[Tensor, Tensor]:
    """Return the inputs and labels of a batch: a pair, or a mapping with one input and labels.

    Parameters
    ----------
    batch
        What the loader gave.
    number
        Which batch it is, for the error.
    """
    if isinstance(batch, Mapping):
        keys = [key for key in LABEL_KEYS if key in batch]
        inputs = [key for key in batch if key not in LABEL_KEYS]
        if len(keys) != 1 or len(inputs) != 1:
            raise LoaderError(
                f"Batch {number} is a mapping with the keys {', '.join(map(str, batch))}; it "
                f"needs one input and one of {', '.join(LABEL_KEYS)}."
            )
        x, y = batch[inputs[0]], batch[keys[0]]
    elif isinstance(batch, Sequence) and not isinstance(batch, str) and len(batch) >= 2:
        x, y = batch[0], batch[1]
    else:
        raise LoaderError(
            f"Batch {number} is {type(batch).__name__}; every batch must be (inputs, labels) or "
            "a mapping that holds both."
        )
    if not isinstance(x, Tensor):
        raise LoaderError(f"The inputs of batch {number} are {type(x).__name__}, not a tensor.")
    return x, torch.as_tensor(y)


def check_labels(labels: Tensor, n_samples: int, n_classes: int, number: int) -> Tensor:
    """Return the labels as int64, or say what is wrong with them."""
    if labels.ndim == 2 and labels.shape[1] == n_classes and n_classes > 1:
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


def to_model(x: Tensor, model: nn.Module) -> Tensor:
    """Move inputs to the device of a model and, if they are floats, to its precision."""
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    if parameter is None:
        return x
    dtype = parameter.dtype if x.is_floating_point() else None
    return x.to(device=parameter.device, dtype=dtype, non_blocking=True)


def batch_count(loader: Iterable[Any]) -> int | None:
    """Return the number of batches, or None where the loader does not know it."""
    try:
        return len(loader) if isinstance(loader, Sized) else None
    except TypeError:  # a DataLoader of an iterable data set has a length only in name
        return None


def can_be_read_again(loader: Iterable[Any]) -> bool:
    """Whether a second pass over the loader gives its batches again: not so for an iterator."""
    return not isinstance(loader, Iterator)


def require_rereadable(loader: Iterable[Any], name: str, why: str) -> None:
    """Raise unless the loader can be read more than once."""
    if not can_be_read_again(loader):
        raise LoaderError(
            f"{name} is an iterator, which can be read only once, but {why}; pass a DataLoader or "
            "a list of batches."
        )


def nothing_in(loader: Iterable[Any]) -> LoaderError:
    """Return the error for a loader that gave no batch."""
    if can_be_read_again(loader):
        return LoaderError("The loader is empty: it gave no batch.")
    return LoaderError(
        "The loader gave no batch: it is an iterator that has been read to its end before; pass "
        "a DataLoader or a list of batches."
    )
