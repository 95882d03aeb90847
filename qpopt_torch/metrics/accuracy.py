"""How often the class with the largest logit is the right one."""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batches, check_labels, nothing_in
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.metrics.metric import Metric
from qpopt_torch.network.observation import evaluating, run, unwrap
from qpopt_torch.network.reading.outputs import Output, logits_of


class Accuracy(Metric):
    """Accuracy = #{j : argmax_c logits_jc = label_j} / #samples, from 0 to 1."""

    title = "Accuracy"
    meaning = "samples whose class is recognised"
    percent = 100.0
    states: ClassVar = {"n_correct": add, "n_samples": add}

    def __init__(self) -> None:
        self.n_correct = 0
        self.n_samples = 0

    def update(self, logits: Tensor, labels: Tensor) -> None:
        """Add a batch: logits, samples × classes, and the labels."""
        self.n_correct += int((logits.argmax(dim=1) == labels.to(logits.device)).sum())
        self.n_samples += len(labels)

    def compute(self) -> float:
        """Return the accuracy; NaN without samples."""
        return self.n_correct / self.n_samples if self.n_samples else float("nan")

    @classmethod
    def of(cls, logits: Tensor, labels: Tensor) -> float:
        """Return the accuracy of logits that are at hand."""
        found = cls()
        found.update(logits, labels)
        return found.compute()


def accuracy(
    model: nn.Module, loader: Iterable[Any], *, output: Output = None, progress: bool = True
) -> float:
    """Return the share of samples whose largest logit is that of their class, from 0 to 1.

    Under a torch.distributed group, every rank reads its own loader and gets the share of all.

    Parameters
    ----------
    model, loader, progress
        As in `collect`.
    output
        Which output of the model is the logits, where it has several.

    Examples
    --------
    >>> import torch
    >>> import qpopt_torch
    >>> says_itself = torch.nn.Identity()
    >>> loader = [(torch.eye(4), torch.tensor([0, 1, 2, 0]))]
    >>> qpopt_torch.accuracy(says_itself, loader, progress=False)
    0.75
    """
    unwrap(model)
    loader = unpacked(loader, getattr(model, "unpack", None))

    def measure() -> Accuracy:
        found = Accuracy()
        with evaluating(model), torch.no_grad():
            reading = batches(loader, model, empty=True, title="accuracy", progress=progress)
            for number, (x, y) in enumerate(reading):
                logits = logits_of(run(model, x, number), output)
                found.update(logits, check_labels(y, len(x), logits.shape[1], number))
        return found

    found, *others = ranks.on_all(measure)
    for other in others:
        found.merge(other)
    if not found.n_samples:
        raise nothing_in(loader)
    return found.compute()
