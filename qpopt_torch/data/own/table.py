"""Table: the rows of a table as a data set."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.data import Dataset

from qpopt_torch.data.batches import check_features
from qpopt_torch.data.class_names import checked_class_names
from qpopt_torch.errors import LoaderError


class Table(Dataset[tuple[Tensor, int]]):
    """Rows of numbers with their classes, normalised, which reports show as they were.

    Parameters
    ----------
    values
        Rows × columns.
    labels
        The class of every row, as a number.
    columns
        Names of the columns.
    class_names
        Names of the classes.
    like
        Another table, whose mean and deviation normalise this one: that of training.

    Attributes
    ----------
    x, y
        The normalised rows and their labels.
    mean, std
        Of every column.

    Examples
    --------
    >>> import qpopt_torch
    >>> rows = [[13.2, 2.1], [12.4, 2.9], [14.0, 2.4]]
    >>> table = qpopt_torch.Table(rows, [0, 1, 0], columns=["alcohol", "ash"])
    >>> len(table), table[0][0].shape, table.columns
    (3, torch.Size([2]), ('alcohol', 'ash'))
    """

    def __init__(
        self,
        values: ArrayLike,
        labels: ArrayLike,
        *,
        columns: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        like: Table | None = None,
    ) -> None:
        x, self.y = check_features(values, labels)
        n_columns = x.shape[1]
        if columns is None:
            columns = like.columns if like else [f"Column {i + 1}" for i in range(n_columns)]
        self.columns: tuple[str, ...] = tuple(map(str, columns))
        for label, count in (("columns", len(self.columns)), ("like", len((like or self).columns))):
            if count != n_columns:
                raise LoaderError(f"{label} names {count} columns; the rows have {n_columns}.")
        names = checked_class_names(class_names) or (like.class_names if like else None)
        self.class_names: tuple[str, ...] | None = names
        rows = x.double()
        spread = rows.std(0, unbiased=False)
        self.mean: Tensor = like.mean if like else rows.mean(0)
        self.std: Tensor = like.std if like else torch.where(spread > 0, spread, 1.0)
        self.x = ((rows - self.mean) / self.std).float()

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        return self.x[i], int(self.y[i])
