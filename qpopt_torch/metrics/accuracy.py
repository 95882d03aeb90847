"""How often the class with the largest logit is the right one."""

from __future__ import annotations

from torch import Tensor


class Accuracy:
    """Accuracy = 100 · #{j : argmax_c logits_jc = label_j} / #samples."""

    def __init__(self) -> None:
        self.n_correct = 0
        self.n_samples = 0

    def update(self, logits: Tensor, labels: Tensor) -> None:
        """Add a batch: logits, samples × classes, and the labels."""
        self.n_correct += int((logits.argmax(dim=1) == labels.to(logits.device)).sum())
        self.n_samples += len(labels)

    def merge(self, other: Accuracy) -> None:
        """Add what another accumulator saw."""
        self.n_correct += other.n_correct
        self.n_samples += other.n_samples

    def compute(self) -> float:
        """Return the accuracy in percent; NaN without samples."""
        return 100.0 * self.n_correct / self.n_samples if self.n_samples else float("nan")
