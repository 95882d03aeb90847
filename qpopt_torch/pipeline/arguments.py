"""Everything that can be said about the arguments of a pipeline before the first batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from operator import index
from time import perf_counter
from typing import Any, get_args

import numpy as np
from torch import nn

import qpopt
from qpopt import InfeasibleInstance, InvalidArgument, InvalidInstance, TracePoint
from qpopt.control import Event, OnEvent, Phase
from qpopt.preprocessing import HANDED_ON, check_scales
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import first_batch
from qpopt_torch.errors import check_keywords, shown
from qpopt_torch.network.finer_maps import finer_maps, split_head
from qpopt_torch.network.head_finder import HeadLike, check_head, head_of
from qpopt_torch.statistics.bias import Bias
from qpopt_torch.statistics.statistics import Similarity, Statistics

ELSEWHERE = ("n_select", "n_per_class", "include", "exclude", "class_names")
"""Arguments of `Statistics.instance` that a pipeline takes itself."""


def checked_options(
    model: nn.Module,
    prepare: Mapping[str, Any] | None,
    solve: Mapping[str, Any] | None,
    head: HeadLike,
    *own: str,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `Statistics.instance` and `qpopt.solve`, names and values checked.

    So are those of `find_head` and `finer_maps`. Arguments of `qpopt.solve` in `own` are given in
    another way.
    """
    for name, given in (("prepare", prepare), ("solve", solve)):
        if given is not None and not isinstance(given, Mapping):
            raise InvalidArgument(f"{name} must be a mapping of arguments, not {shown(given)}.")
    preparing, solving = dict(prepare or {}), dict(solve or {})
    head, _ = split_head(head)
    check_keywords(
        "prepare", preparing, Statistics.instance, qpopt.prepare, without=ELSEWHERE, also=HANDED_ON
    )
    check_keywords("solve", solving, qpopt.solve, without=("progress", *own))
    _check_preparing(preparing)
    qpopt.check_solve(**{key: value for key, value in solving.items() if key != "start"})
    check_head(model, head)
    return preparing, solving


def with_finer_maps(
    core: nn.Module, loader: Iterable[Any], head: HeadLike
) -> tuple[nn.Module, HeadLike]:
    """Return a model with the maps that are wanted of it, and what says where its head is."""
    head, wanted = split_head(head)
    if wanted is None:
        return core, head
    x, _ = first_batch(loader, core)
    found = head_of(core, x, head)
    return finer_maps(core, x, head=found, **wanted), {
        "head": found.name,
        "feature_layer": found.layer,
    }


def split_kind(head: HeadLike) -> tuple[HeadLike, dict[str, Any]]:
    """Return what says where the head is, and `relu` and `class_bias` of what takes its place."""
    if not isinstance(head, Mapping):
        return head, {}
    kind = {key: head[key] for key in ("relu", "class_bias") if key in head}
    if not isinstance(relu := kind.get("relu", False), bool):
        raise InvalidArgument(f"relu must be True or False, not {shown(relu)}.")
    bias = kind.get("class_bias", 0.0)
    if bias is not None and (isinstance(bias, bool) or not isinstance(bias, int | float)):
        raise InvalidArgument(f"class_bias must be a number or None, not {shown(bias)}.")
    rest = {key: value for key, value in head.items() if key not in kind}
    return (head if not kind else rest or None), kind


def checked_wishes(
    n_select: int, n_per_class: int, include: Iterable[int], exclude: Iterable[int]
) -> dict[str, Any]:
    """Return include and exclude, if they and the counts make sense for some network."""
    for label, count in (("n_select", n_select), ("n_per_class", n_per_class)):
        check_count(label, count)
    if n_per_class > n_select:
        raise InfeasibleInstance(
            f"n_per_class is {n_per_class}, but only n_select = {n_select} features are selected."
        )
    wanted = {"include": _features("include", include), "exclude": _features("exclude", exclude)}
    if both := set(wanted["include"]) & set(wanted["exclude"]):
        raise InfeasibleInstance(f"Feature {min(both)} is both in include and in exclude.")
    if len(wanted["include"]) > n_select:
        raise InfeasibleInstance(
            f"include names {len(wanted['include'])} features, but only n_select = {n_select} are "
            "selected."
        )
    return wanted


def check_count(label: str, count: Any) -> None:
    """Raise InvalidInstance unless this is a whole number of at least 1."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise InvalidInstance(f"{label} must be a whole number of at least 1, not {shown(count)}.")


def teller(progress: bool | OnEvent) -> Callable[..., None]:
    """Return a function that tells of a phase and, in a note, of how things stand."""
    if not (isinstance(progress, bool) or callable(progress)):
        raise InvalidArgument(f"progress must be True, False or a function, not {shown(progress)}.")
    began = perf_counter()

    def tell(phase: Phase, note: str = "") -> None:
        if callable(progress) and ranks.is_first():
            progress(Event(phase, TracePoint(perf_counter() - began, None, None), note))

    return tell


def _check_preparing(preparing: Mapping[str, Any]) -> None:
    scales = ("bias_scale", "redundancy", "epsilon", "seed", "specificity", "neutral")
    check_scales(**{key: preparing[key] for key in scales if key in preparing})
    similarity, bias = preparing.get("similarity", "pearson"), preparing.get("bias", "none")
    if not isinstance(similarity, str) or similarity not in get_args(Similarity):
        raise InvalidInstance(f"similarity must be pearson or auroc, not {shown(similarity)}.")
    if isinstance(bias, str):
        fine = bias in get_args(Bias)
    else:
        fine = callable(bias) or _is_finite_vector(bias)
    if not fine:
        raise InvalidInstance(
            f"bias must be {', '.join(get_args(Bias))}, a function, or one finite number for every "
            f"feature, not {shown(bias)}."
        )
    _features("hint", preparing.get("hint", ()))
    if not isinstance(name := preparing.get("name", ""), str):
        raise InvalidInstance(f"name must be text, not {shown(name)}.")
    if not isinstance(origin := preparing.get("provenance", {}), Mapping):
        raise InvalidInstance(f"provenance must be a mapping, not {shown(origin)}.")


def _is_finite_vector(values: Any) -> bool:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and bool(np.isfinite(array).all())


def _features(label: str, values: Iterable[int]) -> tuple[int, ...]:
    """Return features that some network may have: not negative, none named twice."""
    fine = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    values = tuple(values) if fine else values
    try:
        given = tuple(index(d) for d in values) if fine else ()
    except TypeError:
        fine = False
    if not fine or any(isinstance(d, bool) for d in values):
        raise InvalidInstance(f"{label} must hold feature indices, not {shown(values)}.")
    if negative := [d for d in given if d < 0]:
        raise InvalidInstance(f"{label} names feature {negative[0]}; the first feature is 0.")
    if len(set(given)) < len(given):
        raise InvalidInstance(f"{label} names a feature twice.")
    return given
