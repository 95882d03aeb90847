"""Making the library anew after a deliberate change of how instances are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.errors import BenchmarkError
from benchmarks.library.curation import improve
from benchmarks.library.entries import Entry
from benchmarks.library.family import build
from benchmarks.library.library import Library
from qpopt import Solution, Status, verify


def refresh(library: Library) -> Iterator[Entry]:
    """Make every member of the family anew and carry its best-known solution over.

    The objective is computed for the new instance. A bound of the old one proves nothing for the
    new one and is dropped. Instances that are not of the family stay as they are.

    Parameters
    ----------
    library
        The library, changed in place.

    Yields
    ------
    Entry
        Each entry, when it is made anew.
    """
    old = dict(library.entries)
    solutions = {name: library.best(name) for name in old}
    made_by_family = {name for name, entry in old.items() if _is_generated(entry)}
    library.entries = {name: e for name, e in old.items() if name not in made_by_family}
    for entry in build(library):
        best = solutions.get(entry.name)
        if best is not None:
            _carry_over(library, entry, old[entry.name], best)
        yield library.entry(entry.name)


def _is_generated(entry: Entry) -> bool:
    return entry.source["kind"] != "file" or "generate" in entry.source


def _carry_over(library: Library, entry: Entry, old: Entry, best: Solution) -> None:
    """Take an old solution into the new entry, still in the name of those who found it."""
    instance = library.instance(entry.name)
    unproven = replace(best, fingerprint=entry.fingerprint, bound=None, status=Status.FEASIBLE)
    objective = verify(instance, unproven).objective
    if objective is None:
        raise BenchmarkError(f"The best-known solution of {entry.name} no longer fits it.")
    improve(library, replace(unproven, objective=objective))
    library.put(replace(library.entry(entry.name), found_by=old.found_by))
