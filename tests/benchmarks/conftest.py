"""A library with one instance, runs of it, and rows made by hand."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks.library.curation import add_copy, improve
from benchmarks.library.library import Library
from benchmarks.runs.execute import execute
from benchmarks.runs.rows import Row
from benchmarks.runs.specs import RunSpec

STUB = (sys.executable, "-m", "tests.benchmarks.stub_child")


@pytest.fixture
def library(tmp_path, toy, toy_best) -> Library:
    """Return a library of its own that holds the toy, solved."""
    library = Library(tmp_path / "library")
    add_copy(library, toy, name="toy", size="tiny")
    improve(library, toy_best)
    return library


@pytest.fixture
def make_spec(toy):
    """Return a function that makes runs of the toy."""

    def make(**changes) -> RunSpec:
        values = {
            "instance": "toy",
            "fingerprint": toy.fingerprint,
            "method": "compact",
            "solver": "fine",
            "warm": False,
            "seed": 0,
            "threads": 1,
            "time_limit": 30.0,
            "gap": 1e-4,
            "memory_limit": 2000.0,
        }
        return RunSpec(**{**values, **changes})

    return make


@pytest.fixture
def stub(library):
    """Carry out a run by the stub, which finds what the solver's name asks for."""
    return partial(execute, library=str(library.root), command=STUB)


@pytest.fixture
def make_row():
    """Return a function that makes rows; by default a run that was solved in two seconds."""

    def make(**changes) -> Row:
        values = {
            "key": "-".join(str(value) for value in changes.values()) or "key",
            "instance": "toy",
            "fingerprint": "f",
            "size": "tiny",
            "method": "compact",
            "solver": "highs",
            "warm": False,
            "certified": False,
            "versions": "qpopt 1.0 highs 2.0",
            "seed": 0,
            "threads": 1,
            "time_limit": 60.0,
            "gap_limit": 1e-4,
            "memory_limit": 8000.0,
            "status": "optimal",
            "claimed_status": "optimal",
            "claimed_objective": 100.0,
            "verified": True,
            "objective": 100.0,
            "bound": 100.0,
            "bound_verified": None,
            "gap": 0.0,
            "best_known": 100.0,
            "gap_to_best": 0.0,
            "load_seconds": 0.5,
            "build_seconds": 0.5,
            "solve_seconds": 1.5,
            "wall_seconds": 3.0,
            "peak_memory": 200.0,
            "primal_integral": 1.0,
            "message": "",
            "host": "here",
            "processor": "some processor",
            "system": "Linux, 2 cores, 8 GB",
            "qpopt_version": "1.0",
            "commit": "abc",
            "finished": "2026-01-01T00:00:00+00:00",
        }
        return Row(**{**values, **changes})

    return make


@pytest.fixture
def hand_made() -> Path:
    """Return the hand-made CSV file: two configurations on three instances."""
    return Path(__file__).parent / "hand_made.csv"
