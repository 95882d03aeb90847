"""Working with several processes: agreement between ranks, and samples that are seen twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import torch.distributed as dist
from torch import nn
from torch.utils.data import DistributedSampler

from qpopt import QpoptError
from qpopt_torch.errors import RankLost

T = TypeVar("T")


SIGNS = ("gloo", "NCCL", "Connection closed by peer", "Connection reset by peer")
"""What the errors of backends hold where another process has ended."""

_alone: ContextVar[bool] = ContextVar("alone", default=False)


def active() -> bool:
    """Whether a group of processes is at work."""
    if _alone.get() or not (dist.is_available() and dist.is_initialized()):
        return False
    return dist.get_world_size() > 1


@contextmanager
def alone() -> Iterator[None]:
    """Let this process work in the block as if there were no others."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def rank() -> int:
    """Return the number of this process, 0 where it is alone."""
    return dist.get_rank() if active() else 0


def size() -> int:
    """Return how many processes there are."""
    return dist.get_world_size() if active() else 1


def is_first() -> bool:
    """Whether this is the process that speaks and writes for all."""
    return rank() == 0


@contextmanager
def in_touch() -> Iterator[None]:
    """Turn what the block raises when another process has ended into one sentence.

    Raises
    ------
    RankLost
        If it has.
    """
    try:
        yield
    except RuntimeError as error:
        if is_lost(error):
            raise lost() from None
        raise


def is_lost(error: BaseException) -> bool:
    """Whether an error says that another process cannot be reached any more."""
    said = isinstance(error, dist.DistError) or any(sign in str(error) for sign in SIGNS)
    return active() and said


def lost() -> RankLost:
    """Return the error to end with where another process has ended."""
    return RankLost(
        f"Rank {dist.get_rank()} ends because another of the {dist.get_world_size()} processes "
        "has ended; start all of them again, and what has a checkpoint goes on."
    )


def on_all(function: Callable[[], T]) -> list[T]:
    """Call a function on every rank and return all results, in the order of the ranks.

    An error on one rank is raised on all of them, so that none waits for ever.
    """
    if not active():
        return [function()]
    answer: tuple[Any, Exception | None]
    failure: Exception | None = None
    try:
        answer = (function(), None)
    except Exception as error:
        failure = error
        # Whatever it was, the other ranks get something that can be pickled.
        same = isinstance(error, QpoptError)
        answer = (None, error if same else QpoptError(f"{type(error).__name__}: {error}"))
    answers: list[tuple[Any, Exception | None]] = [(None, None)] * dist.get_world_size()
    with in_touch():
        dist.all_gather_object(answers, answer)
    if failure is not None:
        raise failure
    for rank, (_, wrong) in enumerate(answers):
        if wrong is not None:
            raise type(wrong)(f"On rank {rank}: {wrong}")
    return [value for value, _ in answers]


def alike(function: Callable[[], T]) -> T:
    """Call a function on all ranks and return what each has itself; errors as with `on_all`."""
    own: list[T] = []
    on_all(lambda: own.append(function()))
    return own[0]


def on_first(function: Callable[[], T]) -> T:
    """Call a function on the first rank and return its result on all; so with its errors."""
    result = on_all(lambda: function() if is_first() else None)[0]
    return cast(T, result)


def agreed(function: Callable[[], T], what: str) -> T:
    """Call a function on all ranks and return its result, which must be the same everywhere.

    Raises
    ------
    QpoptError
        If it is not; `what` says of what it speaks.
    """
    results = on_all(function)
    if any(result != results[0] for result in results):
        raise QpoptError(f"The ranks do not have the same: {what} differs between them.")
    return results[0]


def share(model: nn.Module) -> None:
    """Give all ranks the parameters and buffers of the first."""
    if active():
        for value in model.state_dict().values():
            # A copy: broadcast changes its tensor, and one that is not contiguous it cannot take.
            sent = value.detach().contiguous().clone()
            with in_touch():
                dist.broadcast(sent, 0)
            value.detach().copy_(sent)


def repeated_samples(loader: Any) -> int:
    """Return how many samples at the end of this rank's share another rank sees as well.

    A DistributedSampler gives every rank the same number of samples by repeating some.
    """
    sampler = getattr(loader, "sampler", None)
    if not isinstance(sampler, DistributedSampler) or sampler.drop_last:
        return 0
    n_samples = len(sampler.dataset)  # type: ignore[arg-type]
    positions = range(sampler.rank, sampler.total_size, sampler.num_replicas)
    return sum(position >= n_samples for position in positions)
