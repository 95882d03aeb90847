"""Loaders whose batches have a form of their own, which a function takes apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from qpopt_torch.errors import LoaderError

Unpack = Callable[[Any], tuple[Any, Any]]
"""A function of a batch that returns inputs and labels."""


class Unpacked:
    """A loader whose batches a function takes apart, and which is like it in all else.

    Parameters
    ----------
    loader
        Batches of any form.
    unpack
        Returns inputs and labels of one.
    """

    def __init__(self, loader: Iterable[Any], unpack: Unpack) -> None:
        self.packed, self.unpack = loader, unpack

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for number, batch in enumerate(self.packed):
            try:
                x, y = self.unpack(batch)
            except Exception as error:  # the code of a user may fail in any way
                said = f"{type(error).__name__}: {error}".rstrip(".: ")
                raise LoaderError(
                    f"unpack must return inputs and labels of a batch, but fails on batch {number} "
                    f"({said})."
                ) from error
            yield x, y

    def __len__(self) -> int:
        return len(self.packed)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name in ("packed", "unpack") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.packed, name)


def unpacked(loader: Any, unpack: Unpack | None) -> Any:
    """Return a loader whose batches a function takes apart; the loader itself without one."""
    if unpack is None or loader is None or isinstance(loader, Unpacked):
        return loader
    return Unpacked(loader, unpack)
