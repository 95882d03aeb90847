import shutil
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks import __main__ as command_line
from benchmarks.library.library import Library
from benchmarks.runs.rows import RowFile
from qpopt import Instance, available_solvers, solve

OPEN_SOURCE = [
    name for name in ("highs", "scip", "cpsat") if available_solvers()[name].availability.usable
]


@pytest.fixture
def own_library(library, monkeypatch):
    """Let the commands work on the library of the tests."""
    monkeypatch.setattr(command_line, "Library", lambda: Library(library.root))
    return library


def run(*words):
    return command_line.main([str(word) for word in words])


def test_the_tiny_suite_is_solved_by_every_open_source_solver(tmp_path, capsys):
    """The check that is run everywhere: methods, solvers, runner and report together."""
    names = "attributes-12x6,clustered-12x6,planted-12x6,uniform-12x6"
    options = ["--methods", "compact", "--solvers", ",".join(OPEN_SOURCE), "--jobs", 2]
    out = tmp_path / "results"
    assert run("run", "--instances", names, *options, "--time-limit", 60, "--out", out) == 0
    rows = RowFile(out / "rows.csv").read()
    assert len(rows) == 4 * len(OPEN_SOURCE)
    for row in rows:
        assert (row.status, row.verified) == ("optimal", True), row
        assert abs(row.gap_to_best) <= 1e-4
    assert run("report", out) == 0
    assert "compact + highs" in (out / "report.html").read_text()
    assert f"{len(rows)} runs carried out, 0 were there" in capsys.readouterr().out


def test_list_shows_what_is_known(own_library, capsys):
    assert run("list") == 0
    assert "12.900000" in capsys.readouterr().out


def test_all_that_is_known_fits_into_80_columns(monkeypatch, capsys):
    monkeypatch.setattr(command_line, "console", Console(width=80))
    assert run("list") == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    for entry in Library().entries.values():
        assert f"{entry.name} " in shown
        assert f" {entry.objective:.6f} " in shown


def test_adding_and_improving_on_the_command_line(own_library, tmp_path, toy, toy_best, capsys):
    other = Instance(toy.A * 2.0, toy.R, toy.b, 3, 2)
    other.save(tmp_path / "other.npz")
    toy_best.save(tmp_path / "best.json")
    assert run("add", tmp_path / "other.npz", "--name", "other", "--class", "small") == 0
    assert Library(own_library.root).entry("other").size == "small"
    assert run("improve", tmp_path / "best.json") == 1
    assert "Nothing is better for toy" in " ".join(capsys.readouterr().out.split())
    assert run("prove", "other") == 2
    assert "needs some solution first" in capsys.readouterr().err


def test_a_certificate_beside_a_solution_is_checked(own_library, tmp_path, toy, capsys):
    solve(toy, gap=0.0, options={"certificate": tmp_path / "best.npz"}).save(tmp_path / "best.json")
    assert run("improve", tmp_path / "best.json") == 0
    assert run("list") == 0
    assert "solved*" in capsys.readouterr().out
    (tmp_path / "best.npz").write_bytes(b"nothing")
    assert run("improve", tmp_path / "best.json") == 2


def test_a_proof_improves_the_library(own_library, tmp_path, toy_best):
    shutil.rmtree(own_library.root / "solutions")
    entry = own_library.entry("toy")
    own_library.put(type(entry)(**{**vars(entry), "objective": None, "bound": None}))
    replace(toy_best, bound=None, status="feasible").save(tmp_path / "best.json")
    assert run("improve", tmp_path / "best.json") == 0
    assert Library(own_library.root).entry("toy").status == "open"
    assert run("prove", "toy") == 0
    assert Library(own_library.root).entry("toy").status == "solved"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "There is nothing to run"),
        (["run", "--suite", "huge"], "There is no suite 'huge'"),
        (["run", "--suite", "tiny", "--methods", "magic"], "no method called 'magic'"),
        (["report", "nowhere"], "nowhere holds no rows"),
        (["improve", "nowhere.json"], "nowhere.json does not exist"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_use_takes_one_line(words, message, capsys):
    assert run(*words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
