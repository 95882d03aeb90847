"""collect: one pass over the data, to the statistics of the features."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batch_count, check_labels, nothing_in, split, to_model
from qpopt_torch.errors import LoaderError, ModelError
from qpopt_torch.network.head import Head, find_head
from qpopt_torch.network.observation import evaluating, hooked, on_last_call, unwrap
from qpopt_torch.statistics.accumulator import Accumulator, Start
from qpopt_torch.statistics.statistics import Statistics

logger = logging.getLogger("qpopt")


def collect(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    head: Head | nn.Module | str | None = None,
    feature_layer: nn.Module | str | None = None,
    bins: int = 0,
    like: Statistics | None = None,
    class_names: Sequence[str] | None = None,
    progress: bool = True,
) -> Statistics:
    """Collect the statistics of the features of a model in one pass over the data.

    The model runs in evaluation mode and is left exactly as it was. Under an initialised
    torch.distributed group every rank reads its own loader and gets the statistics of all.

    Parameters
    ----------
    model
        A trained classifier.
    loader
        Batches of inputs and labels.
    head, feature_layer
        A `Head`, or the modules or names where they are known; found from the first batch
        otherwise.
    bins
        Bins of the histograms for AUROC, for example 64; 0 for none.
    like
        Statistics to be merged with: they fix the bins.
    class_names
        Names of the classes.
    progress
        Whether to show a progress bar on a terminal.

    Returns
    -------
    Statistics
        The same on every rank.

    Raises
    ------
    ModelError
        If no head can be verified, or a feature is not finite: it names the batch and the layer.
    LoaderError
        If there are no batches or their labels are wrong.
    """
    core = unwrap(model)
    batches: Iterator[Any] = iter(())
    first: Any = None
    seen: _Observer | None = None

    def prepare_pass() -> tuple[Head, Start] | None:
        nonlocal batches, first, seen
        batches = iter(loader)
        first = next(batches, None)
        if first is None:
            return None
        x = to_model(split(first, 0)[0], core)
        found = head if isinstance(head, Head) else _head(core, x, head, feature_layer)
        seen = _Observer(core, found)
        with evaluating(core), torch.no_grad(), seen.watching():
            seen.run(x, 0)
        return found, Start.of(seen.features)

    agreed = next((answer for answer in ranks.on_all(prepare_pass) if answer is not None), None)
    if agreed is None:
        raise nothing_in(loader)
    found, start = agreed
    if like is not None and like.scale is not None:
        start = Start(torch.as_tensor(like.shift), torch.as_tensor(like.scale))
        bins = bins or like.histograms.shape[2]  # type: ignore[union-attr]

    def whole_pass() -> Statistics | None:
        if seen is None:
            return None
        everything = chain([first], batches)
        bar = tqdm(
            _unrepeated(everything, loader),
            desc="collect",
            total=batch_count(loader),
            disable=None if progress and ranks.is_first() else True,
        )
        sums = _add_up(seen, start, bar, bins)
        return Statistics.of(sums, head=found, class_names=class_names)

    parts = [part for part in ranks.on_all(whole_pass) if part is not None]
    return reduce(Statistics.merge, parts)


def _head(
    core: nn.Module,
    x: Tensor,
    head: nn.Module | str | None,
    feature_layer: nn.Module | str | None,
) -> Head:
    found = find_head(core, x, head=head, feature_layer=feature_layer)
    maps = "no feature maps" if found.layer is None else f"feature maps {found.layer!r}"
    logger.info("head %r with %d features, %s", found.name, found.n_features, maps)
    return found


class _Observer:
    """Runs a model and keeps what its head receives and its feature layer gives."""

    def __init__(self, core: nn.Module, head: Head) -> None:
        self.core, self.head = core, head
        self.modules = head.modules(core)
        self.features: Tensor
        self.maps: Tensor | None = None
        self.grid = True

    def watching(self) -> Any:
        module, layer = self.modules
        hooks = {} if layer is None else {layer: on_last_call(self._keep_maps, self.head.calls)}
        return hooked(hooks, {module: self._keep_features})

    def run(self, x: Tensor, number: int) -> None:
        self.x = x
        self.core(x)
        if not torch.isfinite(self.features).all():
            raise ModelError(
                f"The features of batch {number} are not finite; the first layer that gives NaN "
                f"or infinity is {_first_not_finite(self.core, x)}."
            )

    def _keep_features(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self.features = args[0].flatten(1)

    def _keep_maps(self, module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        layout = self.head.layout
        assert layout is not None
        self.maps = layout.maps(output, like=self.x)
        self.grid = self.maps.ndim == self.x.ndim or layout.channels == "first"


def _add_up(seen: _Observer, start: Start, batches: Iterable[Any], bins: int) -> Accumulator:
    """Add up all batches; `seen` has run the first one already."""
    sums: Accumulator | None = None
    core, head = seen.core, seen.head
    with evaluating(core), torch.no_grad(), seen.watching():
        for number, batch in enumerate(batches):
            x, y = split(batch, number)
            y = check_labels(y, len(x), head.n_classes, number)
            if number or len(x) < len(seen.features):
                seen.run(to_model(x, core), number)
            if sums is None:
                device = "cpu" if seen.features.device.type == "mps" else seen.features.device
                start = Start(start.shift.to(device), start.scale.to(device))
                sums = Accumulator(head.n_classes, start, bins)
            sums.add(seen.features, y, seen.maps, grid=seen.grid)
    assert sums is not None
    return sums


def _unrepeated(batches: Iterable[Any], loader: Any) -> Iterator[Any]:
    """Yield the batches without the samples that a sampler repeats to give all ranks as many."""
    repeated = ranks.repeated_samples(loader)
    if not repeated:
        yield from batches
        return
    logger.warning("Leaving out %d samples that the DistributedSampler repeats.", repeated)
    left = len(loader.sampler) - repeated
    for number, batch in enumerate(batches):
        x, y = split(batch, number)
        if left > 0:
            yield x[:left], y[:left]
        left -= len(x)
    if left > 0:
        raise LoaderError("The loader gave fewer samples than its DistributedSampler.")


def _first_not_finite(core: nn.Module, x: Tensor) -> str:
    """Run the model again and name the first module whose output is not finite."""
    names = {module: name for name, module in core.named_modules() if name}
    bad: list[str] = []

    def check(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor) and not torch.isfinite(output).all():
            bad.append(names[module])

    with hooked(dict.fromkeys(names, check)):
        core(x)
    if not torch.isfinite(x).all():
        return "the input itself"
    return repr(bad[0]) if bad else "between two modules"
