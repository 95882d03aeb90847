"""The whole study at a size that takes a minute."""

import pytest
from rich.table import Table

from benchmarks.studies.scale.formats import ratios
from benchmarks.studies.scale.simulation import Measured
from benchmarks.studies.scale.study import first_to_break, main


def test_ratios_are_of_the_network_that_is_named():
    found = ratios(5, 32, 2, shrunk=16, compiled=False)
    assert set(found.formats) == {"bfloat16", "channels last", "both"}
    assert min(found.forward, found.collect, found.step, *found.formats.values()) > 0
    assert None not in found.formats.values()
    assert found.bare_step > 1


@pytest.mark.slow
def test_everything_is_said():
    said = []
    main(True, said.append)
    tables = [each for each in said if isinstance(each, Table)]
    columns = {table.title: [list(c.cells) for c in table.columns] for table in tables}
    assert len(tables) == len(columns) == 7
    processes = next(cells for title, cells in columns.items() if "processes" in title)
    assert processes[0] == ["1", "2"]
    assert float(processes[3][1]) < 1e-12
    assert any("the same bits" in str(each) for each in said)
    assert "First to break" in str(said[-2])


def test_what_breaks_first_is_said_with_its_numbers():
    said = first_to_break(Measured(0.3, 1.1, 1.2, 0.01, 60.0, 18.0))
    assert "0.52 GB for ImageNet-1k and 11 GB for ImageNet-21k, refused above 8 GB" in said
    assert "132,968 samples a second" in said
    assert "φ = 0.300, κ = 1.100, τ = 1.200" in said
