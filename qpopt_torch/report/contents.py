"""What the page needs to know, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qpopt_torch.evidence.meaning import Meaning
from qpopt_torch.evidence.pictures import Picture
from qpopt_torch.explain import Evidence, Sample
from qpopt_torch.explain.counterfactuals import Change, Move
from qpopt_torch.explain.decision import Decision, decision_on
from qpopt_torch.explain.decision_terms import Sum, sum_of
from qpopt_torch.explain.feature import distribution_of
from qpopt_torch.explain.neighbours import neighbours_of
from qpopt_torch.explain.rounding import add_up
from qpopt_torch.report.encoding import TINY, PageParams, encode_images, encode_maps, encode_series
from qpopt_torch.report.levels import LevelPage
from qpopt_torch.report.meaning import feature_meaning

MOST_PAIRS = 200
"""Pairs of classes that differ in one feature and are listed; of the others the number is said."""


def contents(
    gallery: Evidence,
    decisions: Evidence,
    max_bytes: int,
    params: PageParams,
    levels: LevelPage | None,
    meaning: Meaning | None = None,
    twins: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the data of the page.

    Parameters
    ----------
    gallery
        Gives the samples that show classes and features, and what is usual in a class.
    decisions
        Gives the decisions and the accuracy of every class; may be the same.
    max_bytes, params
        Size that the page should not exceed, and how it is spent.
    levels
        Levels and sets of the decisions; without it no decision is shown.
    meaning
        What the features mean, where it is known.
    twins
        Classes that differ in one part, as `twin_rows` gives them.
    """
    numbers: dict[tuple[int, int], int] = {}
    samples: list[Sample] = []

    def number(evidence: Evidence, index: int) -> int:
        """Return the place of a sample among those of the page."""
        key = (id(evidence), index)
        if key not in numbers:
            numbers[key] = len(samples)
            samples.append(evidence.samples[index])
        return numbers[key]

    # What lists show first stands together, so that a list loads few parts.
    for places in gallery.of_feature:
        for i in places:
            number(gallery, i)
    for places in gallery.of_class:
        for i in places[:1]:
            number(gallery, i)
    means = gallery.class_means
    data = {
        "classes": _classes(gallery, decisions, number),
        "features": _features(gallery, number, meaning),
        "assignment": [np.flatnonzero(row).tolist() for row in gallery.assignment],
        "means": [[_rounded(value) for value in row] for row in means],
        "confusions": _confusions(decisions),
        "twins": [[*row["classes"], row["part"]] for row in twins],
        "map_rows": params.map_rows,
        **({} if levels is None else _decisions(gallery, decisions, levels, number)),
        **_weights(gallery),
    }
    return {**data, **drawn(samples, gallery, max_bytes - len(json.dumps(data)), params)}


def _decisions(
    gallery: Evidence, decisions: Evidence, levels: LevelPage, number: Any
) -> dict[str, Any]:
    """Return decisions and what compares classes: all that rests on plain sums."""
    shown = {
        kind: [
            {
                "sample": number(decisions, i),
                **described_decision(decisions.samples[i], gallery),
                **levels.of_decision(decisions.samples[i]),
            }
            for i in members
        ]
        for kind, members in (("wrong", decisions.wrong), ("right", decisions.right))
    }
    return {**shown, **_map(gallery), **levels.to_dict()}


def _weights(gallery: Evidence) -> dict[str, Any]:
    """Return the weights of every class for its features; nothing where they are added up.

    And whether all weights are signs, and classes have a constant as well.
    """
    if (found := gallery.weighing) is None:
        return {}
    used = zip(found.weights, gallery.assignment, strict=True)
    rows = [[_rounded(w, 3) for w in row[own]] for row, own in used]
    return {"weights": rows, "signed": found.signed, "biased": bool(found.constants.any())}


def _classes(gallery: Evidence, decisions: Evidence, number: Any) -> list[dict[str, Any]]:
    counts, hits = decisions.tally.counts, decisions.tally.hits
    return [
        {
            "name": name,
            "n": int(counts[c]),
            "right": int(hits[c]),
            "samples": [number(gallery, i) for i in gallery.of_class[c]],
            "sums": [_summed(gallery, gallery.samples[i], c) for i in gallery.of_class[c]],
        }
        for c, name in enumerate(gallery.names.classes)
    ]


def _features(gallery: Evidence, number: Any, meaning: Meaning | None) -> list[dict[str, Any]]:
    features = []
    for column, name in enumerate(gallery.names.features):
        found = distribution_of(gallery, column)
        features.append(
            {
                "name": name,
                "index": gallery.names.selection[column],
                "samples": [number(gallery, i) for i in gallery.of_feature[column]],
                "low": _rounded(found.edges[0]),
                "high": _rounded(found.edges[-1]),
                "users": list(found.users),
                "others": list(found.others),
                "modes": [[_rounded(value, 4) for value in mode] for mode in found.modes],
                "on": _rounded(max((mode[0] for mode in found.modes), default=0.0), 3),
                "contrastiveness": _rounded(100 * (1 - found.overlap), 1),
                **_mixture(gallery, column),
                **feature_meaning(meaning, column),
            }
        )
    return features


def _mixture(gallery: Evidence, column: int) -> dict[str, Any]:
    """Return what an adapter made a feature of; nothing without one."""
    if (adapter := gallery.names.adapter) is None:
        return {}
    parts = zip(adapter.part_features[column], adapter.part_shares[column], strict=True)
    return {
        "correlation": _rounded(float(adapter.correlation[column])),
        "parts": [[int(d), _rounded(100 * float(share), 1)] for d, share in parts],
        "mixed": len(adapter.mean),
    }


def described_decision(sample: Sample, gallery: Evidence) -> Mapping[str, Any]:
    """Return the sums of a decision, what would change it and what misled, as they are shown."""
    found = decision_on(sample, gallery.assignment, gallery.names, gallery)
    entry: dict[str, Any] = {
        "sums": [[total.number, *_shown(total)] for total in found.sums],
        "changes": [_change(found, change) for change in found.changes],
        "level": [change.rival for change in found.changes if change.level],
    }
    if (wrong := found.misleading) is not None:
        entry["feature"], entry["fired"] = wrong.column, wrong.fired
        entry["usual"] = _rounded(wrong.usual)
    return entry


def _summed(gallery: Evidence, sample: Sample, c: int) -> list[Any]:
    """Return the logit of a class and its terms; where it weighs features, its constant last."""
    if gallery.weighing is None:
        return _shown(sum_of(sample, gallery.assignment, c))
    logit, terms = add_up(gallery.weighing.terms(sample.values, c))
    return [logit / 100, [term / 100 for term in terms]]


def _shown(total: Sum) -> list[Any]:
    """Return a sum and its terms, rounded so that they add up."""
    logit, terms = total.shown
    return [logit / 100, [term / 100 for term in terms]]


def _change(decision: Decision, change: Change) -> list[Any]:
    """Return the rival, the ways in which it would win, how many more there are, and what is idle.

    A way is a list of features, each with whether it falls, by how much, the value after it, and
    what limits it. The direction is said by itself: a change that is shown as 0.00 has one, too.
    """

    def described(move: Move) -> list[Any]:
        to = decision.shown_value(move, change.rival) + move.shown
        limit = None if move.limit is None else _rounded(move.limit)
        size = abs(move.shown) / 100
        return [move.column, int(move.falls), size, to / 100, int(move.reach), limit]

    ways = [[described(move) for move in way] for way in change.ways]
    return [change.rival, ways, change.n_more, list(change.idle)]


def _confusions(decisions: Evidence) -> list[list[int]]:
    """Return label, prediction and count of all mistakes, the most frequent first."""
    return [[a, b, count] for (a, b), count in decisions.tally.mistakes.most_common()]


def _map(gallery: Evidence) -> dict[str, Any]:
    found = neighbours_of(gallery.names, gallery.assignment)
    return {
        "pairs": [list(pair) for pair in found.pairs[:MOST_PAIRS]],
        "n_pairs": len(found.pairs),
        "tree": [[int(a), int(b), _rounded(h), int(n)] for a, b, h, n in found.tree.tolist()],
        "class_order": list(found.class_order),
        "feature_order": list(found.feature_order),
    }


def drawn(
    samples: list[Sample], gallery: Evidence, budget: int, params: PageParams
) -> dict[str, Any]:
    """Return samples as the page shows them, with their images and heat maps in so many bytes."""
    for_maps = int(params.maps_share * budget)
    grid, maps = encode_maps(samples, list(gallery.samples.values()), for_maps, params)
    described: list[dict[str, Any]] = []
    images: list[Picture] = []
    for place, sample in enumerate(samples):
        entry: dict[str, Any] = {
            "label": sample.label,
            "pred": sample.prediction,
            "index": sample.index,
            "z": [_rounded(value) for value in sample.values],
        }
        if maps[place:]:
            entry["maps"] = maps[place]
        if sample.picture.kind == "image":
            height, width = sample.picture.values.shape[:2]
            entry["image"], entry["ratio"] = len(images), round(width / height, 3)
            images.append(sample.picture)
        elif sample.picture.kind == "series":
            entry["series"] = encode_series(sample.picture, params.series_lines)
        elif sample.picture.kind == "text":
            entry["words"] = list(sample.picture.words)
        elif sample.picture.kind == "table":
            entry["row"] = [list(cell) for cell in sample.picture.row]
        described.append(entry)
    sides = [max(picture.values.shape[:2]) for picture in images]
    left = budget - len(json.dumps(described)) - params.page_bytes
    return {
        "samples": described,
        "images": encode_images(images, left, params),
        "grid": list(grid),
        "located": bool(maps),
        "sharp": bool(sides) and max(sides) <= TINY,
        "written": any("words" in entry or "row" in entry for entry in described),
    }


def _rounded(value: float, digits: int = 2) -> float | None:
    return round(float(value), digits) if np.isfinite(value) else None
