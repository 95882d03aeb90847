"""State: one answer of the solver, what it was asked and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from sys import float_info
from typing import Any

from qpopt_torch.errors import ModelError
from qpopt_torch.studio.demands import Demand

LARGEST = float_info.max
WORST = 8
"""How many of the classes that lose most are named."""


@dataclass(frozen=True)
class Accuracy:
    """Decisions on validation samples, class by class.

    Parameters
    ----------
    right, total
        Samples of every class that are recognised, and all of them.
    """

    right: tuple[int, ...]
    total: tuple[int, ...]

    @property
    def share(self) -> float:
        """The accuracy, from 0 to 1."""
        return sum(self.right) / max(1, sum(self.total))

    def fits(self, n_classes: int) -> bool:
        """Tell whether these are numbers of samples of so many classes."""
        both = len(self.right) == len(self.total) == n_classes
        return both and all(
            _is_count(right) and _is_count(total) and right <= total
            for right, total in zip(self.right, self.total, strict=True)
        )


@dataclass(frozen=True)
class State:
    """One answer.

    Parameters
    ----------
    number
        Counted from 0, which is the model as it was opened.
    name
        What a person calls it.
    demands
        What was asked.
    n_select, n_per_class
        The counts.
    sets
        The features of every class, by their indices in the dense model.
    selection
        All of them.
    objective, bound
        What the solver found, and what it has proven so far.
    ended
        How the solve ended; empty while it goes on.
    accuracy
        With a linear adapter on the features of the validation samples.
    control
        The accuracy, from 0 to 1, of a random assignment that was trained the same way.
    problem
        Why there is no answer, and `blamed` the places of the demands that exclude one another.
    """

    number: int
    name: str
    demands: tuple[Demand, ...]
    n_select: int
    n_per_class: int
    selection: tuple[int, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()
    objective: float | None = None
    bound: float | None = None
    ended: str = ""
    accuracy: Accuracy | None = None
    control: float | None = None
    problem: str = ""
    blamed: tuple[int, ...] = ()

    def with_(self, **changes: Any) -> State:
        """Return the same state with some things changed."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; `from_dict` reads it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["demands"] = [demand.to_dict() for demand in self.demands]
        plain["accuracy"] = None if self.accuracy is None else asdict(self.accuracy)
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_features: int, n_classes: int) -> State:
        """Return the state that `to_dict` described.

        Raises
        ------
        ModelError
            If it is none of a model with so many features and classes.
        """
        known = {field.name: values[field.name] for field in fields(cls)}
        known["demands"] = tuple(
            Demand.checked(one, n_features, n_classes) for one in known["demands"]
        )
        for key in ("selection", "blamed"):
            known[key] = tuple(known[key])
        known["sets"] = tuple(tuple(row) for row in known["sets"])
        if (found := known["accuracy"]) is not None:
            known["accuracy"] = Accuracy(tuple(found["right"]), tuple(found["total"]))
        state = cls(**known)
        if not state._fits(n_features, n_classes):
            raise ModelError("its values do not fit together.")
        return state

    def _fits(self, n_features: int, n_classes: int) -> bool:
        """Tell whether all values are of their type, and about a model of this size."""
        texts = (self.name, self.ended, self.problem)
        counts = (self.number, self.n_select - 1, self.n_per_class - 1, *self.blamed)
        selected, found = set(self.selection), self.accuracy
        return (
            all(isinstance(text, str) for text in texts)
            and all(_is_count(value) for value in counts)
            and all(_is_count(d) and d < n_features for d in self.selection)
            and len(self.sets) in (0, n_classes)
            and all(row and selected.issuperset(row) for row in self.sets)
            and all(_is_known(value) for value in (self.objective, self.bound, self.control))
            and (found is None or found.fits(n_classes))
        )


def difference(before: State, after: State) -> dict[str, Any]:
    """Return what changed from one state to another, as plain values.

    Returns
    -------
    dict
        `added` and `removed` features; `classes` whose set changed, each with what it gained and
        lost; the differences of `objective` and `accuracy`, None where one is not known; `worst`,
        the classes that lose most of their samples, each with its accuracy before and after.
    """
    old, new = set(before.selection), set(after.selection)
    shares = [None if one.accuracy is None else one.accuracy.share for one in (after, before)]
    classes = []
    for c, (was, now) in enumerate(zip(before.sets, after.sets, strict=False)):
        gained, lost = sorted(set(now) - set(was)), sorted(set(was) - set(now))
        if gained or lost:
            classes.append({"class": c, "gained": gained, "lost": lost})
    return {
        "added": sorted(new - old),
        "removed": sorted(old - new),
        "classes": classes,
        "objective": _minus(after.objective, before.objective),
        "accuracy": _minus(*shares),
        "worst": _worst(before.accuracy, after.accuracy),
    }


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_known(value: Any) -> bool:
    """Tell whether something is a number that JSON can tell, or None."""
    return value is None or (type(value) in (int, float) and abs(value) <= LARGEST)


def _minus(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _worst(before: Accuracy | None, after: Accuracy | None) -> list[dict[str, Any]]:
    if before is None or after is None:
        return []
    lost = [
        (right - was, c)
        for c, (was, right, total) in enumerate(
            zip(before.right, after.right, after.total, strict=True)
        )
        if total and right < was
    ]
    return [
        {"class": c, "before": before.right[c], "after": after.right[c], "total": after.total[c]}
        for _, c in sorted(lost)[:WORST]
    ]
