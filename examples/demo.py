"""Prepare, print and save a generated instance: the first thing to run."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

import qpopt
from qpopt import tables

OUTPUT = Path("demo")


def main() -> None:
    """Generate an instance, show it, save it, and read it back."""
    console = Console()
    instance = qpopt.generate(256, 50, 20, 5, structure="attributes", seed=0)
    console.print(tables.overview(instance))
    console.print(tables.similarity_histogram(instance))

    clique = instance.provenance["clique"]
    value = instance.objective(clique)
    console.print(f"\nThe clique of prepare is a selection without redundancy: {clique}")
    console.print(f"similarity {value.similarity:.3f}, redundancy {value.redundancy:.3f}")

    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / "instance.npz"
    instance.save(path)
    assert qpopt.Instance.load(path) == instance
    console.print(f"\nsaved to {path}; look at it again with: .venv/bin/qpopt info {path}")


if __name__ == "__main__":
    main()
