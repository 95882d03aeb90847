"""The instance library: an index, the instances it names, and their best-known solutions.

========================  ===================================================
``instances/index.json``  one entry an instance
``instances/tiny/*.npz``  committed instances, by size
``solutions/NAME.json``   the best-known solution of each
``data/*.npz``            raw statistics that large instances are made from
========================  ===================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.sources import Source, make_instance
from qpopt import Instance, Solution
from qpopt.files import replacing

ROOT = Path(__file__).parent
SIZES = ("tiny", "small", "medium", "large")
FORMAT = "qpopt-benchmarks"
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
        tiny, small, medium or large; the index calls it `class`.
    source
        Where the instance comes from; see `benchmarks.sources`.
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
        Method, solver, versions and seconds behind the objective and behind the bound.
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
        """(bound − objective) / max(|objective|, 1e-10), or None where either is missing."""
        if self.objective is None or self.bound is None:
            return None
        return (self.bound - self.objective) / max(abs(self.objective), 1e-10)

    @property
    def status(self) -> str:
        """`solved` where the best-known objective is proven optimal, else `open`."""
        return "solved" if self.gap is not None and self.gap <= SOLVED_GAP else "open"

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


class Library:
    """The instances of one folder.

    Parameters
    ----------
    root
        The folder; that of the benchmarks themselves by default.

    Raises
    ------
    BenchmarkError
        If there is an index and it cannot be read.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.entries: dict[str, Entry] = {}
        if self.index.exists():
            for record in _read(self.index):
                entry = Entry.from_record(record)
                if entry.name in self.entries:
                    raise BenchmarkError(f"The index names {entry.name} twice.")
                self.entries[entry.name] = entry

    @property
    def index(self) -> Path:
        """The file of the index."""
        return self.root / "instances" / "index.json"

    def solution_file(self, name: str) -> Path:
        """Return where the best-known solution of an instance is kept."""
        return self.root / "solutions" / f"{name}.json"

    def entry(self, name: str) -> Entry:
        """Return the entry of that name.

        Raises
        ------
        BenchmarkError
            If there is none.
        """
        if name not in self.entries:
            raise BenchmarkError(
                f"The library has no instance {name!r}; python -m benchmarks list shows all."
            )
        return self.entries[name]

    def select(self, sizes: Iterable[str] = (), names: Iterable[str] = ()) -> list[Entry]:
        """Return the entries of the given sizes and names together, in the order of the index.

        Raises
        ------
        BenchmarkError
            If a size or a name is unknown.
        """
        sizes = set(sizes)
        if unknown := sizes - set(SIZES):
            raise BenchmarkError(f"There is no suite {min(unknown)!r}; known are {_list(SIZES)}.")
        wanted = {self.entry(name).name for name in names}
        return [e for e in self.entries.values() if e.size in sizes or e.name in wanted]

    def instance(self, name: str) -> Instance:
        """Return an instance of the library.

        Raises
        ------
        BenchmarkError
            If it is not the one that the index means.
        """
        entry = self.entry(name)
        instance = make_instance(self.root, name, entry.source)
        if instance.fingerprint != entry.fingerprint:
            raise BenchmarkError(
                f"{name} has the fingerprint {instance.fingerprint[:12]}…, but the index says "
                f"{entry.fingerprint[:12]}…: the file, the data or the code that makes it changed."
            )
        return instance

    def best(self, name: str) -> Solution | None:
        """Return the best-known solution of an instance, or None where there is none."""
        entry = self.entry(name)
        return None if entry.objective is None else Solution.load(self.solution_file(name))

    def put(self, entry: Entry) -> None:
        """Add or replace an entry and write the index."""
        self.entries[entry.name] = entry
        order = sorted(self.entries.values(), key=_order)
        self.entries = {e.name: e for e in order}
        lines = ",\n".join(_block(e.record()) for e in order)
        head = f'{{"format": "{FORMAT}", "version": 1, "instances": [\n'
        self.index.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.index) as stream:
            stream.write(f"{head}{lines}\n]}}\n".encode())


def describe(name: str, size: str, source: Source, instance: Instance) -> Entry:
    """Return the entry of a new instance, without any best-known figure."""
    n_pairs = instance.n_features * (instance.n_features - 1) // 2
    epsilon = instance.provenance.get("epsilon")
    if size not in SIZES:
        raise BenchmarkError(f"There is no class {size!r}; known are {_list(SIZES)}.")
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


def _order(entry: Entry) -> tuple[int, int, int, int, int, str]:
    """From tiny to large, and within that by the counts."""
    counts = (entry.n_features, entry.n_classes, entry.n_select, entry.n_per_class)
    return (SIZES.index(entry.size), *counts, entry.name)


def _read(path: Path) -> list[Mapping[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT or content["version"] != 1:
            raise BenchmarkError(f"{path} is no index of this version.")
        records: list[Mapping[str, Any]] = content["instances"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BenchmarkError(f"{path} is no index of instances: {error!r}.") from None
    return records


def _block(record: Mapping[str, Any]) -> str:
    """Write one entry as a block of lines, one a key, so that changes read well in a diff."""
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    return " {\n" + ",\n".join(lines) + "\n }"


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)
