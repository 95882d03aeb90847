"""The whole study at a size that takes a minute."""

import pytest
from rich.table import Table

from benchmarks.studies.scale.formats import ratios
from benchmarks.studies.scale.study import main


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
