"""Adding instances to the library and improving what is known of them; both verify first."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.library.entries import Entry, describe
from benchmarks.library.library import Library
from benchmarks.library.sources import Source, make_instance
from qpopt import Certificate, Instance, Solution, Status, __version__, check_certificate, verify
from qpopt.problem.tolerances import outward

BETTER = 1e-9
"""A figure counts as better from this difference on, relative to its size."""


def add_file(library: Library, file: Path, *, name: str, size: str) -> Entry:
    """Copy an instance into the library.

    Parameters
    ----------
    library
        The library to add to.
    file
        An .npz file that `Instance.save` wrote.
    name, size
        Its name in the library, and tiny, small, medium or large.

    Returns
    -------
    Entry
        The new entry.

    Raises
    ------
    BenchmarkError
        If the name or the instance is already there.
    QpoptError
        If the file holds no instance.
    """
    return add_copy(library, Instance.load(file), name=name, size=size)


def add_copy(
    library: Library,
    instance: Instance,
    *,
    name: str,
    size: str,
    generate: dict[str, Any] | None = None,
) -> Entry:
    """Save an instance into the library; `generate` tells how it was made, where it was."""
    source: dict[str, Any] = {"kind": "file", "path": f"{size}/{name}.npz"}
    if generate is not None:
        source["generate"] = generate
    entry = describe(name, size, source, instance)
    _check_new(library, entry)
    target = library.root / "instances" / source["path"]
    target.parent.mkdir(parents=True, exist_ok=True)
    instance.save(target)
    library.put(entry)
    return entry


def add_source(library: Library, source: Source, *, name: str, size: str) -> Entry:
    """Add an instance that is made on demand, from raw data or by `qpopt.generate`."""
    if name in library.entries:
        raise BenchmarkError(f"The library already has an instance {name!r}.")
    entry = describe(name, size, source, make_instance(library.root, name, source))
    _check_new(library, entry)
    library.put(entry)
    return entry


def improve(library: Library, solution: Solution, certificate: Certificate | None = None) -> str:
    """Take a solution, its bound, or both into the library if they are better than what is known.

    Nothing is believed: the solution is verified against the instance with its fingerprint. A
    bound is recomputed from its certificate, and the index says so. Without one it cannot be, so
    the index says who claimed it, and one that lies below a solution is refused.

    Parameters
    ----------
    library
        The library to improve.
    solution
        What was found.
    certificate
        The proof of its bound. It may also prove a bound that has only been claimed so far.

    Returns
    -------
    str
        One line that says what got better.

    Raises
    ------
    BenchmarkError
        If the solution is wrong, belongs to no instance of the library, or is not better.
    QpoptError
        If the certificate is damaged.
    """
    entry = _entry_of(library, solution)
    instance = library.instance(entry.name)
    verification = verify(instance, solution)
    objective = verification.objective
    if not verification.ok or objective is None:
        raise BenchmarkError(f"The solution of {entry.name} is wrong: {verification}")
    higher = _exceeds(objective, entry.objective)
    claimed = solution.bound
    if certificate is not None:
        claimed = check_certificate(instance, certificate)
    lower = claimed is not None and (entry.bound is None or _exceeds(entry.bound, claimed))
    if claimed is not None and entry.bound is not None and certificate and not entry.certified:
        lower = claimed <= outward(entry.bound)
    if not higher and not lower:
        raise BenchmarkError(
            f"Nothing is better for {entry.name}: objective {objective:.10g} (known "
            f"{entry.objective!r}), bound {claimed!r} (known {entry.bound!r})."
        )
    bound = claimed if lower else entry.bound
    best = objective if higher else entry.objective
    if bound is not None and best is not None and best > outward(bound):
        raise BenchmarkError(
            f"For {entry.name} the objective {best!r} lies above the bound {bound!r}: one of the "
            "two is wrong, and only the objective can be checked."
        )
    if bound is not None and best is not None:
        bound = max(bound, best)  # below it only by rounding
    by = _credit(solution)
    news = replace(
        entry,
        objective=best,
        bound=bound,
        found_by=by if higher else entry.found_by,
        bound_by={**by, "certified": certificate is not None} if lower else entry.bound_by,
    )
    _keep(library, news, solution if higher else library.best(entry.name))
    figures = (("objective", best, higher), ("bound", bound, lower))
    better = " and ".join(f"{label} {value!r}" for label, value, is_new in figures if is_new)
    return f"{entry.name}: {better} ({news.status})"


def _check_new(library: Library, entry: Entry) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", entry.name):
        raise BenchmarkError(
            f"{entry.name!r} is no name for an instance: use small letters, digits, dots and "
            "hyphens."
        )
    for other in library.entries.values():
        if other.name == entry.name:
            raise BenchmarkError(f"The library already has an instance {entry.name!r}.")
        if other.fingerprint == entry.fingerprint:
            raise BenchmarkError(f"The library already has this instance, as {other.name!r}.")


def _entry_of(library: Library, solution: Solution) -> Entry:
    for entry in library.entries.values():
        if entry.fingerprint == solution.fingerprint:
            return entry
    raise BenchmarkError(
        f"The library has no instance with the fingerprint {solution.fingerprint[:12]}…; add it "
        "first."
    )


def _exceeds(value: float, other: float | None) -> bool:
    return other is None or value - other > BETTER * max(1.0, abs(other))


def _credit(solution: Solution) -> dict[str, Any]:
    """Tell who found a solution; runs of the benchmarks record the versions in the details."""
    versions = solution.details.get("versions") or {"qpopt": __version__}
    return {
        "method": solution.method,
        "solver": solution.solver,
        "version": " ".join(f"{name} {version}" for name, version in versions.items()),
        "seconds": round(solution.seconds, 2),
    }


def _keep(library: Library, entry: Entry, solution: Solution | None) -> None:
    """Write the best-known solution without its history, then the index that refers to it."""
    assert solution is not None  # there is one as soon as the entry has an objective
    path = library.solution_file(entry.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    proven = entry.status == "solved"
    replace(
        solution,
        objective=entry.objective,
        bound=entry.bound,
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        trace=(),
        details={key: solution.details[key] for key in ("versions",) if key in solution.details},
    ).save(path)
    library.put(entry)
