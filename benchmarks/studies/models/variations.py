"""What settings make of the best selection and assignment: one row for every recipe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.studies.models.results import Result

FOUND = {"solve": ("solve s", 1), "gap": ("gap %", 2)}
"""Figures of the solve."""
OPTIMISED, DENSE = "optimised", "dense"


def split(results: Sequence[Result]) -> tuple[list[Result], list[list[Result]]]:
    """Return results that compare methods, and groups that compare settings.

    A group holds all recipes of the same data for which nothing but the optimised model was
    measured, if there are several.
    """
    groups: dict[tuple[str, str], dict[str, list[Result]]] = {}
    for result in results:
        recipes = groups.setdefault((result.data, result.judged_by), {})
        recipes.setdefault(result.recipe, []).append(result)
    varied = []
    for recipes in groups.values():
        alone = [own for own in recipes.values() if _methods(own) <= {OPTIMISED, DENSE}]
        models = [[result for result in own if result.method == OPTIMISED] for own in alone]
        if sum(map(bool, models)) > 1:
            varied.append([result for own in models for result in own])
    keys = {(r.data, r.judged_by, r.recipe) for group in varied for r in group}
    return [r for r in results if (r.data, r.judged_by, r.recipe) not in keys], varied


def differing(results: Sequence[Result]) -> tuple[list[str], dict[str, Any]]:
    """Return the settings in which recipes differ, and those that they share with their values."""
    recipes = [json.loads(result.recipe) for result in results]
    names = sorted({name for recipe in recipes for name in recipe})
    shared = {
        name: recipes[0].get(name)
        for name in names
        if all(recipe.get(name) == recipes[0].get(name) for recipe in recipes)
    }
    return [name for name in names if name not in shared], shared


def _methods(results: Sequence[Result]) -> set[str]:
    return {result.method for result in results}
