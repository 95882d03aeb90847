"""The features of every class as a solution gives them, and every demand on them.

Plain loops over what the person has asked for; nothing that methods use to meet demands is used
to check them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from qpopt.problem.constraints import Average
from qpopt.problem.instance import Instance


class Violation(NamedTuple):
    """One way in which a solution is wrong: a short code and a sentence."""

    code: str
    message: str


class ClassFeatures(NamedTuple):
    """The features of a class: those that count by their presence, and by their absence."""

    present: frozenset[int]
    absent: frozenset[int]

    @property
    def all(self) -> frozenset[int]:
        """Both."""
        return self.present | self.absent


Classes = list[ClassFeatures]


def class_features(selected: list[int], rows: list[list[int]]) -> Classes:
    """Return the features of every class by their sign."""
    return [
        ClassFeatures(
            frozenset(d for d, sign in zip(selected, row, strict=True) if sign > 0),
            frozenset(d for d, sign in zip(selected, row, strict=True) if sign < 0),
        )
        for row in rows
    ]


def terms_of(instance: Instance, selected: list[int], classes: Classes) -> list[float]:
    """Return everything that Z is the sum of."""
    terms = [float(instance.b[d]) for d in selected]
    gamma = 1.0 if instance.demands.negative is None else instance.demands.negative[1]
    for c, features in enumerate(classes):
        terms += [float(instance.A[c, d]) for d in features.present]
        terms += [-gamma * float(instance.A[c, d]) for d in features.absent]
    for i, d in enumerate(selected):
        terms += [-float(instance.R[d, e]) for e in selected[i + 1 :]]
    return terms


def demand_violations(
    instance: Instance, selected: list[int], classes: Classes
) -> Iterator[Violation]:
    """Yield every demand that is broken, beside the counts."""
    yield from _cells(instance, classes)
    yield from _uses(instance, selected, classes)
    yield from _negatives(instance, classes)
    yield from _pairs(instance, classes)
    yield from _sharing(instance, classes)


def size_violations(instance: Instance, classes: Classes) -> Iterator[Violation]:
    """Check how many features every class has, and all together."""
    budget = instance.budget
    for c, features in enumerate(classes):
        size = len(features.all)
        if isinstance(budget, Average):
            most = instance.n_select if budget.most is None else budget.most
            if not budget.least <= size <= most:
                message = f"class {c} has {size} features instead of {budget.least} to {most}."
                yield Violation("budget", message)
            continue
        code = "assignment" if budget is None else "budget"
        wanted = instance.n_per_class
        if budget is not None and c < len(budget):
            wanted = budget[c]
        if size != wanted:
            yield Violation(code, f"class {c} has {size} features instead of {wanted}.")
    if isinstance(budget, Average):
        total, wanted = sum(len(each.all) for each in classes), instance.n_per_class * len(classes)
        if total != wanted:
            message = f"the classes have {total} features in all instead of {wanted}."
            yield Violation("budget", message)


def _cells(instance: Instance, classes: Classes) -> Iterator[Violation]:
    for c, d in instance.demands.forbidden:
        if c < len(classes) and d in classes[c].all:
            yield Violation("forbidden", f"class {c} has feature {d}, which is forbidden to it.")
    for c, d in instance.demands.required:
        if c < len(classes) and d not in classes[c].present:
            yield Violation("required", f"class {c} lacks feature {d}, which is required of it.")


def _uses(instance: Instance, selected: list[int], classes: Classes) -> Iterator[Violation]:
    if instance.demands.classes_per_feature is None:
        return
    least, most = instance.demands.classes_per_feature
    for d in selected:
        uses = sum(d in features.all for features in classes)
        if not least <= uses <= most:
            message = f"feature {d} serves {uses} classes instead of {least} to {most}."
            yield Violation("classes_per_feature", message)


def _negatives(instance: Instance, classes: Classes) -> Iterator[Violation]:
    most = 0 if instance.demands.negative is None else instance.demands.negative[0]
    for c, features in enumerate(classes):
        if len(features.absent) > most:
            message = f"class {c} has {len(features.absent)} negatives; at most {most} may be."
            yield Violation("negative", message)


def _pairs(instance: Instance, classes: Classes) -> Iterator[Violation]:
    demands = instance.demands
    for c, other in demands.pairs:
        if max(c, other) >= len(classes):
            continue
        one, two = classes[c].all, classes[other].all
        if len(one - two) != 1 or len(two - one) != 1:
            message = (
                f"classes {c} and {other} share {len(one & two)} features; they must differ in "
                "exactly one each."
            )
            yield Violation("pairs", message)
    if demands.n_pairs:
        alike = sum(
            len(one.all - two.all) == len(two.all - one.all) == 1
            for one, two in combinations(classes, 2)
        )
        if alike < demands.n_pairs:
            message = f"{alike} pairs of classes differ in one feature each, not {demands.n_pairs}."
            yield Violation("pairs", message)


def _sharing(instance: Instance, classes: Classes) -> Iterator[Violation]:
    most = instance.demands.max_shared
    if most is None:
        return
    for (c, one), (other, two) in combinations(enumerate(classes), 2):
        shared = len(one.all & two.all)
        if shared > most and (c, other) not in instance.demands.pairs:
            message = f"classes {c} and {other} share {shared} features; at most {most} may be."
            yield Violation("max_shared", message)
