"""What is true of a sparse classifier, found out by running its network and intervening in it.

Nothing here uses the explanations: features are read and changed at the entry of the head.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

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
    features: np.ndarray
    z: np.ndarray
    maps: np.ndarray | None

    @property
    def guesses(self):
        return self.logits.argmax(axis=1)


class Truth:
    """A sparse classifier, the samples that show it, and those that it decides on."""

    def __init__(self, sparse, loader, train_loader=None, dense=None, birds=None, **asked):
        self.asked = asked  # attributes, masks, similarity, n_deletion: what it was given besides
        self.sparse, self.head = sparse.eval(), sparse.sparse_head
        self.dense, self.birds = dense, birds
        known = asked.get("attributes", None if birds is None else birds.attributes)
        self.attributes = None if known is None else np.asarray(known, dtype=float)
        self.decided = self._look(loader)
        self.shown = self.decided if train_loader is None else self._look(train_loader)
        self.from_training = train_loader is not None
        n_select = len(self.head.mean)
        plain, *moved = self.logits(0, np.vstack([np.zeros(n_select), MUCH * np.eye(n_select)]))
        self.uses = np.stack(moved, axis=1) - plain[:, None] > MUCH / 2

    def received(self, x):
        """Return what the network gives the head, as it comes."""
        return run(self.sparse, self.head, x)[0]

    @cached_property
    def mixed(self):
        """All features of the network, samples that show it × features."""
        return self.received(self.shown.x).flatten(1)

    def slopes(self, j):
        """Return how a mixture follows each feature of the network, by small steps of each."""
        received, step = self.mixed[:32], 1e-2
        spread = self.mixed.std(0, unbiased=False)
        with torch.no_grad():
            moved = [
                self.head.adapter(received + step * spread[d] * one) - self.head.adapter(received)
                for d, one in enumerate(torch.eye(received.shape[1]))
            ]
        return np.array([float(change[:, j].abs().mean()) for change in moved])

    @cached_property
    def means(self):
        """Mean of every feature in every class; NaN without samples."""
        kept = [self.shown.z[self.shown.y == c] for c in range(len(self.uses))]
        nothing = np.full(self.uses.shape[1], np.nan)
        return np.stack([z.mean(axis=0) if len(z) else nothing for z in kept])

    @property
    def least(self):
        """The least values of the features over inputs unlike any sample."""
        return self.low.min(axis=0)

    @cached_property
    def low(self):
        """The least values over the mirrored samples, over much noise, and over noise."""
        noise = torch.randn(self.shown.x.shape, generator=torch.Generator().manual_seed(0))
        found = []
        for x in (-3 * self.shown.x, 9 * noise, -noise):
            with self._entry(0.0) as entered, torch.no_grad():
                self.sparse(x)
            found.append(((entered[-1] - self.head.mean) / self.head.std).amin(0).numpy())
        return np.array(found)

    def floor(self, j):
        """Return what no input brings a feature below; None where that was not seen.

        Of inputs unlike any sample, those of two kinds then end at the same value.
        """
        if self.off_below_mean():
            return 0.0
        bottom = self.low[:, j].min()
        alike = (np.abs(self.low[:, j] - bottom) < 1e-5).sum() > 1
        return float(bottom) if alike and bottom <= self.shown.z[:, j].min() + 1e-5 else None

    def logits(self, sample, changes):
        """Return the logits of a sample after changes of its features, in deviations, row by row.

        The network runs up to its head once, and the head once for every row of changes.
        """
        rows = torch.as_tensor(np.atleast_2d(changes)) * self.head.std
        received = self.received(self.decided.x[sample : sample + 1])
        with self._entry(rows.to(received.dtype)), torch.no_grad():
            return self.head(received.expand(len(rows), *received.shape[1:])).flatten(1).numpy()

    def off_below_mean(self):
        """Return whether nothing changes when a feature that is below its mean falls further."""
        n_select, low = self.uses.shape[1], self.head.mean - self.head.std * MUCH
        with torch.no_grad():
            first = self.head.classify(low.expand(1, n_select))
            return torch.equal(
                first, self.head.classify((low - self.head.std * MUCH).expand(1, n_select))
            )

    def off_below_zero(self):
        """Return whether no input gives any feature a value below 0."""
        seen = np.minimum(self.shown.z.min(axis=0), self.least)
        return bool((seen > -0.005).all())

    def output_of(self, layer):
        """Return what a layer makes of the first of the samples that are decided on."""
        found = []
        keep = self.sparse.network.get_submodule(layer).register_forward_hook(
            lambda module, inputs, output: found.append(output)
        )
        self.received(self.decided.x[:1])
        keep.remove()
        return found[-1]

    def winners(self, sample, changes):
        """Return the class that wins after each row of changes; -1 where two are level."""
        logits = self.logits(sample, changes)
        best = np.sort(logits, axis=1)
        return np.where(best[:, -1] > best[:, -2], logits.argmax(axis=1), -1)

    def seen_by_dense(self):
        """Return the weights of the dense head, and what it makes of the same samples."""
        dense = self.dense.eval()
        head = dense.get_submodule(self.sparse.head.name)
        found = []
        for seen in (self.decided, self.shown):
            features, logits, maps = run(dense, head, seen.x)
            arrays = (each.flatten(1).double().numpy() for each in (logits, features, features))
            found.append(Seen(seen.x, seen.y, *arrays, None if maps is None else maps.numpy()))
        return head.weight.detach().flatten(1).numpy(), *found

    def _look(self, loader):
        batches = list(loader)
        x, y = (torch.cat([batch[i] for batch in batches]) for i in (0, 1))
        return self.look(x, y)

    def look(self, x, y=None):
        """Return what the network makes of inputs."""
        with self._entry(0.0) as entered, torch.no_grad():
            logits = self.sparse(x)
        z = (entered[-1] - self.head.mean) / self.head.std
        maps = run(self.sparse, self.head, x)[2]
        if maps is not None:
            with torch.no_grad():
                maps = self.head.select(maps, axis=1).double().numpy()
        arrays = (values.double().numpy() for values in (logits, entered[-1], z))
        return Seen(x, None if y is None else y.numpy(), *arrays, maps)

    @contextmanager
    def _entry(self, changes):
        """Keep the features that enter the fixed part of the head, and change them.

        What a head counts as 0 is there at its mean, so that a change is one of what is added up.
        """
        entered, relu = [], self.head.relu

        def hook(module, inputs, output):
            entered.append(torch.maximum(output, self.head.mean) if relu else output.clone())
            return entered[-1] + changes

        handle = self.head.dropout.register_forward_hook(hook)
        self.head.relu = False
        try:
            yield entered
        finally:
            self.head.relu = relu
            handle.remove()


def run(network, head, x):
    """Return what enters a head, the logits, and the maps: samples × features × places, or None.

    Maps are the last output with places whose mean or maximum over them enters the head.
    """
    entered, outputs = [], []

    def keep(module, inputs, output):
        if module is head:
            entered.append(inputs[0])
        elif isinstance(output, torch.Tensor) and output.ndim > 2:
            outputs.append(output.flatten(2))

    handles = [module.register_forward_hook(keep) for module in network.modules()]
    with torch.no_grad():
        logits = network(x)
    for handle in handles:
        handle.remove()
    received = entered[0].flatten(1)
    for maps in reversed([each for each in outputs if each.shape[2] > 1]):
        for pooled in (maps.mean(2), maps.amax(2)):
            if pooled.shape == received.shape and torch.allclose(pooled, received, atol=1e-5):
                return entered[0], logits, maps
    return entered[0], logits, None
