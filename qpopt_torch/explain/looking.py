"""Looking at one input, however many axes it comes with."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from qpopt_torch.data.batches import to_model
from qpopt_torch.data.inputs import Batch, Inputs, call, described, main_of, whole_batch
from qpopt_torch.errors import LoaderError
from qpopt_torch.network.observation import Features
from qpopt_torch.sparse.classifier import SparseClassifier


def look(model: SparseClassifier, x: Any) -> tuple[Batch, Features]:
    """Return the input as a batch of one, and what the model sees in it."""
    x = whole_batch(x, model, "A sample")
    # The shape alone does not tell a grey image from a batch of one: the model has to.
    alone = _with_axis(x)
    candidates = [alone, x] if main_of(x).ndim > 1 and len(x) == 1 else [alone]
    problem: Exception | None = None
    for batch in candidates:
        try:
            with model.observe() as seen:
                call(model, to_model(batch, model))
        except (RuntimeError, ValueError, IndexError) as error:
            problem = error
        else:
            if seen.features.shape == (1, len(model.selection)):
                return batch, seen
    what = f"of the shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"of {described(x)}"
    raise LoaderError(
        f"The model does not take an input {what}; pass one sample"
        + (f". ({problem})" if problem else ".")
    )


def _with_axis(x: Batch) -> Batch:
    return x.map_tensors(lambda value: value[None]) if isinstance(x, Inputs) else x[None]
