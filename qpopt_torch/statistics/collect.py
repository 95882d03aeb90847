"""collect: one pass over the data, to the statistics of the features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from qpopt import InvalidArgument
from qpopt.io import AnyPath
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batch_count, batches, begin, nothing_in
from qpopt_torch.data.class_names import checked_class_names
from qpopt_torch.data.inputs import Batch, Inputs, main_of, plain
from qpopt_torch.data.resuming import check_known_order
from qpopt_torch.data.sharding import check_sharded, digest, require_different
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import EmptyLoader, ModelError, path_of, shown
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.network.head import Head
from qpopt_torch.network.head_finder import HeadLike, head_of, split_unpack
from qpopt_torch.network.observation import Features, observe, run, unwrap, watch
from qpopt_torch.statistics.accumulator import (
    Accumulator,
    FeatureScale,
    check_memory,
    checked_bins,
    say_memory,
)
from qpopt_torch.statistics.checkpoint import PassCheckpoint
from qpopt_torch.statistics.joining import join
from qpopt_torch.statistics.precision import Precision, autocasting, checked_precision
from qpopt_torch.statistics.statistics import Statistics


def collect(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    head: HeadLike = None,
    bins: int = 0,
    like: Statistics | None = None,
    class_names: Sequence[str] | None = None,
    received: list[tuple[Tensor, Tensor]] | None = None,
    checkpoint: AnyPath | None = None,
    every: int | None = None,
    precision: Precision = "auto",
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
    head
        A `Head`, the module or its name, or a mapping of arguments of `find_head`; found from the
        first batch otherwise.
    bins
        Bins of the histograms for AUROC, for example 64; 0 for none.
    like
        Statistics to be merged with: they fix the bins.
    class_names
        Names of the classes.
    received
        A list that takes features and labels of every batch, on the CPU, so that the network need
        not run again for them.
    checkpoint
        A file that keeps what was added up, so that the same call goes on where this one was ended,
        however abruptly, and ends with the same bits. The loader needs a known order: a DataLoader
        that does not shuffle, or a list. The file is deleted at the end.
    every
        Batches between two saves; without it, as often as a hundredth of the time allows.
    precision
        In which the network runs: `float32`, `bfloat16`, or `auto`: bfloat16 on a GPU that has it.
        What is added up is float64 in any case.
    progress
        Whether to show a progress bar on a terminal.

    Raises
    ------
    ModelError
        If no head can be verified, or a feature is not finite: it names the batch and the layer.
    LoaderError
        If there are no batches, their labels are wrong, two ranks read the same samples, or a
        checkpoint is asked for and the order of the batches is not known.
    InvalidArgument
        If the checkpoint is of another pass.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> statistics = qpopt_torch.collect(model, loader, progress=False)
    >>> statistics.instance(n_select=4, n_per_class=2)
    Instance(4 classes × 12 features, select 4, 2 per class)
    """
    core, names = unwrap(model), checked_class_names(class_names)
    head, unpack = split_unpack(head)
    loader = unpacked(loader, unpack)
    bins = checked_bins(bins)
    if like is not None and not isinstance(like, Statistics):
        raise InvalidArgument(f"like must be Statistics, not {shown(like)}.")
    if received is not None and not isinstance(received, list):
        raise InvalidArgument(f"received must be a list, not {shown(received)}.")
    if checkpoint is not None:
        path_of(checkpoint, "A checkpoint")
        if received is not None:
            raise InvalidArgument("A checkpoint keeps no features: leave it or received out.")
        whole = isinstance(every, int) and not isinstance(every, bool)
        if every is not None and (not whole or every < 1):
            raise InvalidArgument(
                f"every must be a whole number of at least 1, not {shown(every)}."
            )
        check_known_order(loader)
    casting = partial(autocasting, checked_precision(precision))
    begun: Iterable[Any] = ()
    first: Features | None = None
    beginning = ""

    check_sharded(loader)

    def prepare_pass() -> tuple[Head, FeatureScale, str] | None:
        nonlocal begun, first, beginning
        try:
            x, begun = begin(loader, core)
        except EmptyLoader:  # another rank may have batches
            return None
        found = head_of(core, x, head)
        checked_class_names(names, found.n_classes)
        check_memory(bins, found.n_classes, found.n_features)
        with observe(core, found) as first, casting(x.device):
            _run(core, x, first, 0)
        beginning = digest(plain(x)) if ranks.active() or checkpoint is not None else ""
        return found, FeatureScale.of(first.features), beginning

    answers = [answer for answer in ranks.on_all(prepare_pass) if answer is not None]
    if not answers:
        raise nothing_in(loader)
    require_different([identity for _, _, identity in answers])
    found, scale, _ = answers[0]
    if like is not None and like.n_features != found.n_features:
        raise InvalidArgument(
            f"like has {like.n_features} features, the model has {found.n_features}."
        )
    if like is not None and like.scale is not None:
        scale = FeatureScale(torch.as_tensor(like.shift), torch.as_tensor(like.scale))
        bins = bins or like.histograms.shape[2]  # type: ignore[union-attr]

    place = next(iter(core.parameters())).device if first is None else first.features.device
    device = "cpu" if place.type == "mps" else place
    own_scale = FeatureScale(*(values.to(device) for values in scale))
    sums = Accumulator(found.n_classes, own_scale, bins)
    say_memory(sums)
    kept: PassCheckpoint | None = None
    if checkpoint is not None:
        identity = {
            "the model": fingerprint(core),
            "the head": found.to_dict(),
            "the first batch": beginning,
            "the number of batches": batch_count(loader),
            "bins": bins,
            "precision": precision,
        }
        made = partial(PassCheckpoint, checkpoint, every, identity, loader)
        kept = ranks.alike(made)
        kept.begin(sums)

    def whole_pass() -> None:
        if first is None:
            return
        done = None if kept is None else kept.resume(sums)
        with observe(core, found) as seen:
            reading = batches(
                loader if kept is None or done is None else kept.rest(done),
                core,
                found.n_classes,
                begun=begun if done is None else None,
                empty=done is not None,
                title="collect",
                progress=progress,
            )
            for number, (x, y) in enumerate(reading, done or 0):
                if done is not None or number or len(x) < len(first.features):
                    with casting(x.device):
                        _run(core, x, seen, number)
                else:
                    seen.features, seen.maps = first.features, first.maps
                grid = found.layout is None or found.layout.is_grid(seen.maps, main_of(x))
                sums.add(seen.features, y, seen.maps, grid=grid)
                if received is not None:
                    received.append((seen.features.float().cpu(), y.cpu()))
                if kept is not None:
                    kept.after(number + 1, sums)

    ranks.on_all(whole_pass)
    if kept is not None:
        ranks.on_first(partial(kept.add_before, sums))
    join(sums)
    if kept is not None:
        kept.done()
    return Statistics.of(sums, names, found)


def _run(core: nn.Module, x: Batch, seen: Features, number: int) -> None:
    run(core, x, number)
    if not torch.isfinite(seen.features).all():
        bad = [call.name for call in watch(core, x)[0] if not torch.isfinite(call.output).all()]
        where = repr(bad[0]) if bad else "between two modules"
        tensors = x.tensors if isinstance(x, Inputs) else (x,)
        if not all(torch.isfinite(value).all() for value in tensors):
            where = "the input itself"
        raise ModelError(
            f"The features of batch {number} are not finite; the first layer that gives NaN or "
            f"infinity is {where}."
        )
