from dataclasses import replace

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.studies.models.results import ROWS, Result, ResultFile

ONE = Result(
    data="digits",
    method="optimised",
    seed=0,
    judged_by="test",
    recipe="{}",
    figures={"accuracy": 90.0, "sid5": None},
    minutes=1.5,
    commit="abc",
    finished="2026-01-02T03:04:05+00:00",
)


def test_what_is_written_is_read(tmp_path):
    file = ResultFile(tmp_path / "new")
    assert file.read() == []
    other = replace(ONE, seed=1)
    for result in (ONE, other, replace(ONE, minutes=2.0)):
        file.append(result)
    assert file.read() == [other, replace(ONE, minutes=2.0)]


def test_a_line_that_was_cut_short_does_not_count(tmp_path):
    file = ResultFile(tmp_path)
    file.append(ONE)
    with (tmp_path / ROWS).open("a") as stream:
        stream.write('{"data": "dig')
    assert file.read() == [ONE]
    # What comes next is a line of its own.
    file.append(replace(ONE, seed=2))
    assert [result.seed for result in file.read()] == [0, 2]


def test_other_lines_are_named(tmp_path):
    (tmp_path / ROWS).write_text('{"data": 1}\n')
    with pytest.raises(BenchmarkError, match="line 1"):
        ResultFile(tmp_path).read()
