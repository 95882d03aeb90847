import matplotlib as mpl
import pytest

from qpopt import InvalidFile
from qpopt_torch.pipeline.sweep_result import Sweep, SweepPoint

mpl.use("Agg")


@pytest.fixture
def found():
    points = (
        SweepPoint(4, 2, 10.0, 11.0, 0.1, 0.5, 0.1, (0, 1, 2, 3), "a"),
        SweepPoint(4, 3, 12.0, None, None, 0.625, 0.1, (0, 1, 2, 3), "b"),
        SweepPoint(6, 2, 11.0, 11.0, 0.0, 0.75, 0.1, (0, 1, 2, 3, 4, 5), "c"),
    )
    return Sweep(points, 0.875)


def test_saved_and_loaded(found, tmp_path):
    found.save(tmp_path / "s.json")
    assert Sweep.load(tmp_path / "s.json") == found


@pytest.mark.parametrize("text", ["", "{}", '{"format": "other"}', "[1]"])
def test_damaged_files(text, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(InvalidFile, match="not a qpopt sweep"):
        Sweep.load(tmp_path / "s.json")


def test_printed(found):
    lines = str(found).splitlines()
    assert lines[1].split() == ["4", "2", "50.0", "%", "10.000", "10.00", "%"]
    assert lines[2].split()[-1] == "–"
    assert lines[-1].split() == ["dense", "87.5", "%"]


def test_drawn(found):
    figure, axis = found.figure()
    small, large, dense = axis.lines
    assert list(small.get_ydata()) == [50, 62.5]
    assert list(large.get_ydata()) == [75]
    assert list(dense.get_ydata()) == [87.5, 87.5]
    mpl.pyplot.close(figure)
