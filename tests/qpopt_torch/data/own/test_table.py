import pytest
import torch

from qpopt_torch import LoaderError, Table

ROWS = [[1.0, 10.0, 5.0], [3.0, 30.0, 5.0]]


def test_rows_are_normalised_by_the_table_of_training():
    table = Table(ROWS, [0, 1], columns=["a", "b", "c"], class_names=["x", "y"])
    assert table.x.tolist() == [[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]]  # constant columns are 0
    row, label = table[1]
    assert row.dtype == torch.float32
    assert label == 1
    other = Table([[2.0, 50.0, 6.0]], [0], like=table)
    assert other.x.tolist() == [[0.0, 3.0, 1.0]]
    assert (other.columns, other.class_names) == (("a", "b", "c"), ("x", "y"))


def test_tables_that_cannot_be():
    with pytest.raises(LoaderError, match="columns names 2 columns; the rows have 3"):
        Table(ROWS, [0, 1], columns=["a", "b"])
    with pytest.raises(LoaderError, match="like names 3 columns; the rows have 1"):
        Table([[1.0]], [0], columns=["a"], like=Table(ROWS, [0, 1]))
    with pytest.raises(LoaderError, match="one class number each"):
        Table(ROWS, [0])
