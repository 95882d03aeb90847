"""What the page says of features whose meaning is known, as plain values."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from qpopt_torch.evidence.gather import Evidence
from qpopt_torch.evidence.meaning import Meaning


def feature_meaning(meaning: Meaning | None, column: int) -> dict[str, Any]:
    """Return what is known of a feature, under `truth`; nothing where there is no truth.

    Parameters
    ----------
    meaning
        What is known of all features.
    column
        The feature, as a column of the selection.
    """
    if meaning is None:
        return {}
    alignment = meaning.alignment
    first, second = alignment.order[column, :2].tolist()
    truth: dict[str, Any] = {
        "aligned": bool(alignment.aligned[column]),
        "best": [alignment.variant_names[first], _rounded(alignment.best_aurocs[column], 4)],
        "second": [alignment.variant_names[second], _rounded(alignment.second_aurocs[column])],
    }
    for effect in meaning.effects:
        if effect.feature == column:
            truth["most"] = None if effect.confirmed else effect.most
            truth["without"] = [
                _rounded(effect.drop_without),
                _rounded(effect.others_without),
                _rounded(100 * effect.changed_without, 0),
            ]
            truth["swapped"] = [
                _rounded(effect.drop_swapped),
                _rounded(effect.others_swapped),
                _rounded(100 * effect.changed_swapped, 0),
            ]
    game = meaning.pointing.get(column)
    if game is not None and game.n_maps:
        truth["pointing"] = [_rounded(game.hits, 0), _rounded(game.chance, 0), game.n_maps]
    return {"truth": truth}


def meaning_rows(meaning: Meaning | None) -> list[tuple[str, str, str]]:
    """Return title, explanation and value of what is known of the whole model."""
    if meaning is None:
        return []
    figures = meaning.percent()
    alignment = meaning.alignment
    tried = len(meaning.effects)
    rows = [
        (
            "Names confirmed",
            "named features that fall most when the part of their name is taken off, of all parts",
            f"{len(meaning.confirmed)} of {tried}" if tried else "nan",
        ),
        (
            "Variants found",
            "variants of parts that some feature recognises, of those that classes need",
            f"{len(alignment.found)} of {int(alignment.needed.sum())}",
        ),
        (
            "Own part taken off",
            "how far features fall; how far those of other parts move meanwhile (in deviations)",
            f"{figures['own_drop']:.2f} | {figures['other_drop']:.2f}",
        ),
        (
            "Single deletion",
            "rank correlation of what parts are said to count and what taking them off does",
            f"{figures['deletion']:+.2f}".replace("-", "−"),
        ),
        (
            "Background independence",
            "decisions that stay before another background",
            f"{figures['background']:.1f} %",
        ),
        (
            "Pointing",
            "maxima of features that lie on their part; of any place of the maps",
            f"{meaning.hits:.0f} % | {meaning.chance:.0f} %",
        ),
        (
            "Twins",
            "species that differ in one part, told apart by nothing but features of that part",
            f"{meaning.n_told} of {len(meaning.twins)}",
        ),
    ]
    return [row for row in rows if "nan" not in row[2]]


def twin_rows(meaning: Meaning | None, evidence: Evidence) -> list[dict[str, Any]]:
    """Return what tells classes apart that differ in one part, those told by it first.

    Each with the numbers and names of both, the part, the names of the features that only one of
    them has, and how many of these recognise a variant of the part.

    Parameters
    ----------
    meaning
        What is known of the features; without it there are no rows.
    evidence
        Has the names, and who has which feature.
    """
    if meaning is None:
        return []
    names, has = evidence.names, np.asarray(evidence.assignment) > 0
    return [
        {
            "classes": [pair.first, pair.second],
            "names": [names.classes[c] for c in (pair.first, pair.second)],
            "part": pair.part,
            "features": [
                [names.features[j] for j in pair.features if has[c, j]]
                for c in (pair.first, pair.second)
            ],
            "of_part": pair.of_part,
            "n": len(pair.features),
        }
        for pair in meaning.telling
    ]


def _rounded(value: float, digits: int = 2) -> float | None:
    return round(float(value), digits) if isfinite(value) else None
