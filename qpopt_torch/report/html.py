"""Writing the report: one file that needs nothing else, or a folder of which a part is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from qpopt import InvalidArgument
from qpopt.io import AnyPath, replacing
from qpopt_torch.errors import path_of, require_sparse, shown
from qpopt_torch.evidence.meaning import meaning_of
from qpopt_torch.evidence.showing import Show
from qpopt_torch.explain import Evidence, gather
from qpopt_torch.metrics.alignment import birds_of
from qpopt_torch.metrics.evaluate import MetricCollection
from qpopt_torch.metrics.explanations.deletion import OwnDrop, deletion_test
from qpopt_torch.metrics.summary import Metrics
from qpopt_torch.report.contents import contents
from qpopt_torch.report.encoding import PageParams
from qpopt_torch.report.folder import check_folder, write_folder
from qpopt_torch.report.levels import LevelPage
from qpopt_torch.report.meaning import meaning_rows, twin_rows
from qpopt_torch.report.overview import (
    averages,
    guess,
    metric_rows,
    nothing_below,
    setting_rows,
    sharing,
    solve_rows,
    trace_points,
)
from qpopt_torch.report.rendering import rendered
from qpopt_torch.sparse.classifier import SparseClassifier

MAX_BYTES = {"file": 25_000_000, "folder": 1_000_000_000}
LARGEST = 10**12


def write_report(
    model: SparseClassifier,
    path: AnyPath,
    loader: Iterable[Any],
    *,
    train_loader: Iterable[Any] | None = None,
    class_names: Sequence[str] | None = None,
    attributes: ArrayLike | None = None,
    similarity: ArrayLike | None = None,
    masks: ArrayLike | None = None,
    dense: Metrics | None = None,
    settings: Mapping[str, Any] | None = None,
    to_image: Show | None = None,
    title: str = "A sparse classifier",
    max_bytes: int | None = None,
    params: PageParams | None = None,
    progress: bool = True,
) -> Path:
    """Write a report of a sparse classifier, and return the HTML file to open.

    Parameters
    ----------
    model
        The sparse classifier.
    path
        The file to write, or with `params.layout="folder"` the folder: new, empty, or one that
        holds an earlier report, which is replaced when the new one is complete.
    loader
        Batches of inputs and labels: their decisions are shown and measured. Of drawn birds, what
        the features mean is shown as well.
    train_loader
        Training batches, whose samples show the classes and features; without it, those of
        `loader`.
    class_names, progress
        As in `gather`.
    to_image
        How samples are shown, as `show` in `gather`.
    attributes, similarity, masks
        As in `evaluate`.
    dense
        Metrics of the dense model, to compare with; those of `model.metrics` by default.
    settings
        Further settings to list, for example those of the training.
    title
        Title of the report.
    max_bytes
        Size that the report should not exceed; images become smaller to meet it. Without it,
        25 MB for a file, and 1 GB for a folder, of which a page loads what it shows.
    params
        How the room is spent, and in which layout.
    """
    target = path_of(path)
    _check(dense, settings, max_bytes, params)
    params = params or PageParams()
    in_folder = params.layout == "folder"
    if in_folder:
        check_folder(target)
    page = described(
        model,
        loader,
        train_loader=train_loader,
        reading={"class_names": class_names, "to_image": to_image, "progress": progress},
        attributes=attributes,
        similarity=similarity,
        masks=masks,
        dense=dense,
        settings=settings,
        title=title,
        max_bytes=max_bytes or MAX_BYTES[params.layout],
        params=params,
    )
    if in_folder:
        return write_folder(target, page.values)
    with replacing(target) as stream:
        stream.write(rendered(page.values).encode())
    return target


def _check(dense: Any, settings: Any, max_bytes: Any, params: Any) -> None:
    """Raise unless these are what a report takes."""
    if dense is not None and not isinstance(dense, Metrics):
        raise InvalidArgument(f"dense must be Metrics, as evaluate gives them, not {shown(dense)}.")
    if settings is not None and not isinstance(settings, Mapping):
        raise InvalidArgument(f"settings must be a mapping, not {shown(settings)}.")
    if max_bytes is not None and (
        isinstance(max_bytes, bool)
        or not isinstance(max_bytes, int)
        or not 1 <= max_bytes <= LARGEST
    ):
        raise InvalidArgument(f"max_bytes must be a whole number above 0, not {shown(max_bytes)}.")
    if params is not None and not isinstance(params, PageParams):
        raise InvalidArgument(f"params must be PageParams, not {shown(params)}.")


@dataclass(frozen=True, eq=False)
class Described:
    """What a page says, and what it was made of.

    Parameters
    ----------
    values
        By their names in the template.
    gallery, decisions
        The samples that show classes and features, and those whose decisions are shown.
    """

    values: dict[str, Any]
    gallery: Evidence
    decisions: Evidence


def described(
    model: SparseClassifier,
    loader: Iterable[Any],
    *,
    reading: Mapping[str, Any],
    train_loader: Iterable[Any] | None = None,
    attributes: ArrayLike | None = None,
    similarity: ArrayLike | None = None,
    masks: ArrayLike | None = None,
    dense: Metrics | None = None,
    settings: Mapping[str, Any] | None = None,
    title: str = "A sparse classifier",
    max_bytes: int = MAX_BYTES["file"],
    params: PageParams | None = None,
) -> Described:
    """Return what the report of a model says.

    Arguments are those of `write_report`; `reading` holds those that are handed to `gather`.
    """
    require_sparse(model, "A report")
    dense = dense or model.metrics.get("dense")
    birds = birds_of(loader)
    collection = MetricCollection(
        model.sparse_head, attributes, birds, similarity=similarity, masks=masks
    )
    given, params = dict(reading), params or PageParams()
    gallery: Evidence | None = None
    if train_loader is not None:
        gallery = gather(model, train_loader, features=collection, **given)
        given["class_names"] = gallery.names.classes
    features = collection if gallery is None else None
    decisions = gather(model, loader, decisions=collection, features=features, **given)
    progress = bool(given.get("progress", True))
    meaning = None if birds is None else meaning_of(model, birds, progress=progress)
    if meaning is not None:
        for evidence in (decisions, gallery or decisions):
            evidence.names.recognise(meaning.alignment, meaning.confirmed)
    if params.n_deletion:
        fallen = deletion_test(model, loader, params.n_deletion, progress=progress)
        collection.metrics["deletion"] = OwnDrop(fallen)
    metrics = collection.compute(from_training=train_loader is not None)
    gallery = gallery or decisions
    plain = gallery.weighing is None
    levels = LevelPage(model, decisions) if plain else None
    twins = twin_rows(meaning, gallery) if plain else []
    values = {
        "title": title,
        "metrics": metric_rows(metrics, dense),
        "measured": metrics,
        "dense": dense,
        "sharing": sharing(model),
        "adapter": model.sparse_head.adapter,
        "relu": nothing_below(gallery),
        "averages": averages(gallery),
        "guess": guess(gallery),
        "solve": solve_rows(model),
        "settings": setting_rows(model, settings),
        "truth": meaning_rows(meaning),
        "twins": twins,
        "plain": plain,
        "negative": bool((gallery.signs < 0).any()),
        "levels": levels,
        "sets": None if levels is None else levels.coverage(decisions),
        "data": contents(gallery, decisions, max_bytes, params, levels, meaning, twins),
        "trace": trace_points(model),
    }
    return Described(values, gallery, decisions)
