"""Writing the report as one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from qpopt import InvalidArgument, QpoptError
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
from qpopt_torch.report.levels import LevelPage
from qpopt_torch.report.meaning import meaning_rows, twin_rows
from qpopt_torch.report.overview import (
    averages,
    metric_rows,
    setting_rows,
    sharing,
    solve_rows,
    trace_points,
)
from qpopt_torch.sparse.classifier import SparseClassifier

MAX_BYTES = 25_000_000
LARGEST = 10**12
SCRIPTS = (
    "core",
    "heat",
    "pieces",
    "classes",
    "contrast",
    "truth",
    "features",
    "levels",
    "decisions",
    "map",
    "router",
)
TABS = {
    "overview": "Overview",
    "classes": "Classes",
    "contrast": "Contrast",
    "features": "Features",
    "decisions": "Decisions",
    "map": "Class map",
}


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
    max_bytes: int = MAX_BYTES,
    params: PageParams | None = None,
    progress: bool = True,
) -> Path:
    """Write a report of a sparse classifier as one HTML file.

    Parameters
    ----------
    model
        The sparse classifier.
    path
        The file to write.
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
        Size that the file should not exceed; images become smaller to meet it.
    params
        How the room in the file is spent.
    """
    target = path_of(path)
    _check(dense, settings, max_bytes, params)
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
        max_bytes=max_bytes,
        params=params,
    )
    with replacing(target) as stream:
        stream.write(rendered(page.values).encode())
    return target


def _check(dense: Any, settings: Any, max_bytes: Any, params: Any) -> None:
    """Raise unless these are what a report takes."""
    if dense is not None and not isinstance(dense, Metrics):
        raise InvalidArgument(f"dense must be Metrics, as evaluate gives them, not {shown(dense)}.")
    if settings is not None and not isinstance(settings, Mapping):
        raise InvalidArgument(f"settings must be a mapping, not {shown(settings)}.")
    if (
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
    max_bytes: int = MAX_BYTES,
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
    levels = LevelPage(model, decisions)
    gallery = gallery or decisions
    twins = twin_rows(meaning, gallery)
    values = {
        "title": title,
        "metrics": metric_rows(metrics, dense),
        "measured": metrics,
        "dense": dense,
        "sharing": sharing(model),
        "adapter": model.sparse_head.adapter,
        "relu": model.sparse_head.relu,
        "averages": averages(gallery),
        "solve": solve_rows(model),
        "settings": setting_rows(model, settings),
        "truth": meaning_rows(meaning),
        "twins": twins,
        "levels": levels.rows(),
        "level_samples": levels.shares.n_samples,
        "level_calibrated": levels.calibrated,
        "sets": levels.coverage(decisions),
        "data": contents(gallery, decisions, max_bytes, params, levels, meaning, twins),
        "trace": trace_points(model),
    }
    return Described(values, gallery, decisions)


@dataclass(frozen=True)
class Addition:
    """What a page that is served has more than the file.

    Parameters
    ----------
    tabs
        Further sections, by their names in addresses.
    style, script
        Style sheet and script; the script runs before the page is shown first.
    connects
        Whether it may ask the server that it came from.
    """

    tabs: Mapping[str, str]
    style: str
    script: str
    connects: bool = True


def rendered(values: Mapping[str, Any], addition: Addition | None = None) -> str:
    """Return the page that says some values."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise QpoptError("The report needs jinja2: pip install jinja2.") from error

    folder = files("qpopt_torch.report") / "page"

    def asset(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    style = asset("style.css")
    parts = [asset(f"{name}.js") for name in SCRIPTS]
    tabs = dict(TABS)
    if addition is not None:
        style += addition.style
        parts.insert(-1, addition.script)  # before the router, which shows the page
        tabs |= addition.tabs
    joined = "\n".join(parts)
    script = f'(() => {{\n"use strict";\n{joined}\n}})();\n'
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment.from_string(asset("page.html")).render(
        tabs=tabs,
        style=style,
        script=script,
        style_hash=_digest(style),
        script_hash=_digest(script),
        connects=addition is not None and addition.connects,
        **values,
    )


def _digest(text: str) -> str:
    """Return the hash by which a page's security policy knows its own code."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
