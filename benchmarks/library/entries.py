"""Entry: what the index of the library knows of one instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.library.sources import Source
from qpopt import Instance
from qpopt.problem.tolerances import relative_gap

SIZES = ("tiny", "small", "medium", "large", "demands")
SOLVED_GAP = 1e-5
"""An instance counts as solved when bound and objective are this close, relative to the latter:
a little more than the tolerances within which solvers work."""


@dataclass(frozen=True)
class Entry:
    """What the index knows of one instance.

    Parameters
    ----------
    name
        The name, unique in the library.
    size
        tiny, small, medium or large, or demands for small ones that state some; the index calls it
        `class`.
    source
        Where the instance comes from; see `benchmarks.library.sources`.
    n_classes, n_features, n_select, n_per_class
        The counts.
    density
        The share of the pairs of features that are redundant.
    epsilon
        Redundancies below it were dropped; None where nothing was.
    fingerprint
        The fingerprint of the instance.
    objective, bound
        The best known ones; None where there is none.
    found_by, bound_by
        Method, solver, versions and seconds behind the objective and behind the bound; and whether
        the bound was recomputed from a certificate.
    """

    name: str
    size: str
    source: Source
    n_classes: int
    n_features: int
    n_select: int
    n_per_class: int
    density: float
    epsilon: float | None
    fingerprint: str
    objective: float | None = None
    bound: float | None = None
    found_by: Mapping[str, Any] | None = None
    bound_by: Mapping[str, Any] | None = None

    @property
    def gap(self) -> float | None:
        """The proven gap of the best-known objective, or None where either is missing."""
        if self.objective is None or self.bound is None:
            return None
        return relative_gap(self.bound, self.objective)

    @property
    def status(self) -> str:
        """`solved` where the best-known objective is proven optimal, else `open`."""
        return "solved" if self.gap is not None and self.gap <= SOLVED_GAP else "open"

    @property
    def certified(self) -> bool:
        """Whether the bound was recomputed from a certificate, and not only claimed."""
        return bool((self.bound_by or {}).get("certified", False))

    def record(self) -> dict[str, Any]:
        """Return the entry as it stands in the index."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        record: dict[str, Any] = {"name": values.pop("name"), "class": values.pop("size")}
        return {**record, "status": self.status, **values}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Entry:
        """Read an entry of the index.

        Raises
        ------
        BenchmarkError
            If something is missing, unknown, or contradicts itself.
        """
        values = dict(record)
        try:
            values["size"] = values.pop("class")
            status = values.pop("status")
            entry = cls(**values)
        except (KeyError, TypeError) as error:
            raise BenchmarkError(
                f"The index has a bad entry {record.get('name', '')!r}: {error}."
            ) from None
        if entry.size not in SIZES or entry.status != status:
            raise BenchmarkError(
                f"The index has a bad entry {entry.name!r}: its class is {entry.size!r} and its "
                f"status {status!r}, but its figures make it {entry.status}."
            )
        return entry


def describe(name: str, size: str, source: Source, instance: Instance) -> Entry:
    """Return the entry of a new instance, without any best-known figure."""
    n_pairs = instance.n_features * (instance.n_features - 1) // 2
    epsilon = instance.provenance.get("epsilon")
    if size not in SIZES:
        raise BenchmarkError(f"There is no class {size!r}; known are {', '.join(SIZES)}.")
    return Entry(
        name=name,
        size=size,
        source=source,
        n_classes=instance.n_classes,
        n_features=instance.n_features,
        n_select=instance.n_select,
        n_per_class=instance.n_per_class,
        density=round(len(instance.redundant_pairs()[1]) / max(n_pairs, 1), 4),
        epsilon=epsilon,
        fingerprint=instance.fingerprint,
    )
