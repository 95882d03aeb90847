"""Where an instance of the library comes from, and how it is made from there.

A source is a plain dictionary, as it stands in the index:

- ``{"kind": "file", "path": …}``: a committed .npz file; with ``generate`` it also tells how the
  file was made.
- ``{"kind": "generate", "arguments": …}``: made on demand by `qpopt.generate`.
- ``{"kind": "data", "path": …, "arguments": …}``: raw statistics in the data folder, made into an
  instance by `qpopt.prepare`; ``bias`` names the array that holds the raw bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.errors import BenchmarkError
from qpopt import Instance, generate, prepare

Source = Mapping[str, Any]

DATA = Path(__file__).parents[1] / "data"
REAL = "cub-resnet50.npz"
"""200 bird species, 2048 features of a ResNet50."""


def real_instance(n_select: int = 50, n_per_class: int = 5, **options: Any) -> Instance:
    """Prepare the real instance with locality as the bias.

    Parameters
    ----------
    n_select, n_per_class
        How many features to select, and how many of them every class gets.
    options
        Further arguments of `qpopt.prepare`.

    Returns
    -------
    Instance
        The same one, bit for bit, on every machine.
    """
    counts = {"n_select": n_select, "n_per_class": n_per_class}
    name = f"cub-resnet50-{n_select}-{n_per_class}"
    return _prepared(DATA / REAL, name, {**counts, "bias": "locality", **options})


def make_instance(root: Path, name: str, source: Source) -> Instance:
    """Load, generate or prepare an instance.

    Parameters
    ----------
    root
        The folder that holds `instances` and `data`.
    name
        The name of the instance in the library.
    source
        One of the three kinds of source.

    Raises
    ------
    BenchmarkError
        If the source is of no known kind, or lacks what its kind needs.
    QpoptError
        If the file is missing or damaged, or the arguments make no instance.
    """
    try:
        kind = source["kind"]
        if kind == "file":
            return Instance.load(root / "instances" / source["path"])
        if kind == "generate":
            return generate(name=name, **source["arguments"])
        if kind == "data":
            return _prepared(root / "data" / source["path"], name, dict(source["arguments"]))
    except (KeyError, TypeError) as error:
        raise BenchmarkError(f"The source of {name} in the index is incomplete: {error}.") from None
    raise BenchmarkError(
        f"The source of {name} in the index is of the kind {kind!r}; known are file, generate and "
        "data."
    )


def _prepared(path: Path, name: str, arguments: dict[str, Any]) -> Instance:
    """Prepare an instance from raw statistics; A and the bias may be stored in any precision."""
    if not path.is_file():
        raise BenchmarkError(f"{path}, from which {name} is made, does not exist.")
    bias = arguments.pop("bias", None)
    with np.load(path, allow_pickle=False) as data:
        names = data["class_names"].tolist() if "class_names" in data else None
        return prepare(
            data["A"].astype(np.float64),
            None if bias is None else data[bias].astype(np.float64),
            class_names=names,
            name=name,
            **arguments,
        )
