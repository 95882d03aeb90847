"""What is true of a sparse classifier, found out by running its network and intervening in it.

Nothing here uses the explanations: features are read and changed at the entry of the head.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

MUCH = 64.0
"""A change of a feature, in deviations, that no rounding hides."""


@dataclass(frozen=True)
class Seen:
    """Inputs and labels, and what the network makes of them."""

    x: torch.Tensor
    y: np.ndarray
    logits: np.ndarray
    z: np.ndarray

    @property
    def guesses(self):
        return self.logits.argmax(axis=1)


class Truth:
    """A sparse classifier, the samples that show it, and those that it decides on."""

    def __init__(self, sparse, loader, train_loader=None):
        self.sparse, self.head = sparse.eval(), sparse.sparse_head
        self.decided = self._look(loader)
        self.shown = self.decided if train_loader is None else self._look(train_loader)
        x = self.decided.x[:1]
        plain = self.logits(x)[0]
        moved = [self.logits(x, {j: MUCH})[0] - plain for j in range(len(self.head.mean))]
        self.uses = np.stack(moved, axis=1) > MUCH / 2

    @property
    def received(self):
        """What the network gives the head, samples that show it × features."""
        kept = []
        handle = self.head.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
        self.logits(self.shown.x)
        handle.remove()
        return kept[0].flatten(1).numpy()

    def slopes(self, j):
        """Return how a mixture follows each feature of the network, by small steps of each."""
        received = torch.tensor(self.received[:32])
        spread, step = torch.tensor(self.received).std(0, unbiased=False), 1e-2
        with torch.no_grad():
            moved = [
                (self.head.adapter(received + step * spread[d] * one) - self.head.adapter(received))
                for d, one in enumerate(torch.eye(received.shape[1]))
            ]
        return np.array([float(change[:, j].abs().mean()) for change in moved])

    @property
    def means(self):
        """Mean of every feature in every class; NaN without samples."""
        kept = [self.shown.z[self.shown.y == c] for c in range(len(self.uses))]
        nothing = np.full(self.uses.shape[1], np.nan)
        return np.stack([z.mean(axis=0) if len(z) else nothing for z in kept])

    def logits(self, x, changes=None):
        """Run the network, some of its features changed by so many deviations."""
        with self._entry(changes or {}), torch.no_grad():
            return self.sparse(x).double().numpy()

    def winner(self, sample, changes):
        """Return the class that wins after a change; -1 where two are level."""
        logits = self.logits(self.decided.x[sample : sample + 1], changes)[0]
        first, second = np.sort(logits)[::-1][:2]
        return int(logits.argmax()) if first > second else -1

    def _look(self, loader):
        batches = list(loader)
        x, y = (torch.cat([batch[i] for batch in batches]) for i in (0, 1))
        with self._entry({}) as entered, torch.no_grad():
            logits = self.sparse(x)
        z = (entered[-1] - self.head.mean) / self.head.std
        return Seen(x, y.numpy(), logits.double().numpy(), z.double().numpy())

    @contextmanager
    def _entry(self, changes):
        """Keep the features that enter the fixed part of the head, and change some of them."""
        entered = []

        def hook(module, inputs, output):
            entered.append(output.clone())
            for column, by in changes.items():
                output = output.clone()
                output[:, column] += by * self.head.std[column]
            return output

        handle = self.head.dropout.register_forward_hook(hook)
        try:
            yield entered
        finally:
            handle.remove()
