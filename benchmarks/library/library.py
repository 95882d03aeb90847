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
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.library.entries import SIZES, Entry
from benchmarks.library.sources import make_instance
from qpopt import Instance, Solution
from qpopt.io import replacing

ROOT = Path(__file__).parents[1]
FORMAT = "qpopt-benchmarks"


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
            raise BenchmarkError(
                f"There is no suite {min(unknown)!r}; known are {', '.join(SIZES)}."
            )
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
