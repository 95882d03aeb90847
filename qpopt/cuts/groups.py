"""Groups: cuts on what several classes gain together, with shares that are improved with X."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.group_cuts import Group, GroupCut, GroupCuts, StackedCuts
from qpopt.cuts.group_search import GroupSearch, GroupSearchParams
from qpopt.cuts.split_thresholds import ClassColumns, SplitThresholds
from qpopt.problem.subproblem import Floats, Indices, Subproblem

Vector = NDArray[np.float64]

LEAST_SHARE = 1e-6
"""A smaller share comes from rounding, and is none."""


@dataclass(frozen=True)
class GroupParams:
    """How cuts on what several classes gain are found.

    Parameters
    ----------
    search
        How new ones are looked for.
    largest_pool
        How many cuts are kept for later.
    updates_per_separation
        How often the pool is looked at before new cuts are looked for.
    new_per_class
        In how many new groups at once a class may be.
    most_idle
        For how many updates a group is kept that has no share.
    sweeps, power_steps, caution
        As for `SplitParams`, about the shares of groups.
    """

    search: GroupSearchParams = GroupSearchParams()
    largest_pool: int = 300
    updates_per_separation: int = 4
    new_per_class: int = 2
    most_idle: int = 6
    sweeps: int = 3
    power_steps: int = 8
    caution: float = 1.5


class Groups:
    """The groups of a subproblem, and those that were found before.

    Parameters
    ----------
    sub
        The problem whose classes are bounded.
    columns
        What its classes choose from, in their order.
    groups
        Those to start with.
    params
        How cuts are found.
    """

    def __init__(
        self,
        sub: Subproblem,
        columns: ClassColumns,
        groups: Sequence[Group] = (),
        params: GroupParams = GroupParams(),
    ) -> None:
        self._sub = sub
        cuts = GroupCuts(sub)
        self._search = GroupSearch(sub, columns, cuts, params.search)
        self._params = params
        self._updates = 0
        self._pool: list[GroupCut] = []
        self._length: float | None = None
        self._shares: Vector = np.zeros(0)
        self._stack = StackedCuts([], sub)
        # Groups that were split on features become the same once these are decided.
        made: dict[tuple[object, ...], tuple[GroupCut, float]] = {}
        for cut in map(cuts.cut, groups):
            _, share = made.get(_key(cut), (cut, 0.0))
            made[_key(cut)] = cut, share + cut.group.share
        self._hold([cut for cut, _ in made.values()], [share for _, share in made.values()])
        self._idle: Indices = np.zeros(len(made), dtype=np.int64)

    @property
    def groups(self) -> list[Group]:
        """Those with a share."""
        both = zip(self._cuts, self._shares.tolist(), strict=True)
        return [cut.group._replace(share=share) for cut, share in both if share]

    @property
    def left(self) -> Vector:
        """What the groups leave of every class."""
        result: Vector = np.maximum(1.0 - self._shares @ self._stack.member, 0.0)
        return result

    @property
    def size(self) -> float:
        """What the multipliers of all groups add up to: what rounding is relative to."""
        taken = self._sub.n_select + self._sub.n_per_class + self._sub.forced.shape[1]
        both = zip(self._cuts, self._shares.tolist(), strict=True)
        return float(sum(share * cut.size(taken) for cut, share in both))

    def add_to(self, M: Vector) -> None:
        """Add the symmetric matrices of all groups to M, each times its share."""
        self._stack.add_to(M, self._shares)

    def update(self, X: Floats, single: Vector, splits: SplitThresholds, weight: float) -> None:
        """Add the best groups at X, and forget those that have had no share for long.

        Parameters
        ----------
        X
            The relaxed solution.
        single
            What every class gains at most by its own cuts.
        splits
            Those cuts: groups are split on features that they are split on.
        weight
            The share of the first groups, between 0 and 1; later ones begin with none, and `step`
            finds what is best.
        """
        if self._updates % self._params.updates_per_separation == 0:
            self._pool = [*self._pool, *self._search.found(X, splits.cuts)]
        self._updates += 1
        idle = np.where(self._shares > 0.0, 0, self._idle + 1)
        waited = dict(zip(map(_key, self._cuts), idle.tolist(), strict=True))
        held = dict(zip(waited, zip(self._cuts, self._shares.tolist(), strict=True), strict=True))
        shares = {key: share for key, (_, share) in held.items()}
        first = 0.0 if shares else weight
        for cut in self._best(X, single):
            key = _key(cut)
            held.setdefault(key, (cut, 0.0))
            waited.setdefault(key, 0)
            shares.setdefault(key, first * cut.group.share)
        kept = [key for key in held if waited[key] < self._params.most_idle]
        self._hold([held[key][0] for key in kept], [shares[key] for key in kept])
        self._idle = np.array([waited[key] for key in kept], dtype=np.int64)

    def step(self, residual: Floats, splits: SplitThresholds, change: Floats) -> None:
        """Move the shares so that a residual becomes smaller; what a group gets, its classes lose.

        Parameters
        ----------
        residual
            What the shares are to make smaller; changed.
        splits
            The cuts of single classes.
        change
            Gets what the shares add to the matrix.
        """
        if not self._cuts:
            return
        if self._length is None:
            self._length = self._step_length(splits)
        member = self._stack.member
        for _ in range(self._params.sweeps):
            shares = np.maximum(self._shares + self._length * self._above(residual, splits), 0.0)
            shares[shares <= LEAST_SHARE] = 0.0
            # No class is taken more than once.
            shares /= np.maximum((member * (shares @ member)).max(axis=1), 1.0)
            self._exchange(shares - self._shares, splits, change)
            self._exchange(self._shares - shares, splits, residual)
            self._shares = shares

    def copy(self) -> Groups:
        """Return groups that go their own way from here."""
        return copy(self)

    def _hold(self, cuts: list[GroupCut], shares: list[float]) -> None:
        self._cuts = cuts
        self._shares = np.array(shares, dtype=np.float64)
        self._stack = StackedCuts(cuts, self._sub)
        self._length = None

    def _above(self, M: Floats, splits: SplitThresholds) -> Vector:
        """Return what every group gives at M less what its classes give by themselves."""
        cuts = splits.cuts
        alone = np.bincount(cuts.classes, cuts.shares * splits.at(M), self._sub.n_classes)
        above: Vector = self._stack.at(M) - self._stack.member @ alone
        return above

    def _exchange(self, shares: Vector, splits: SplitThresholds, M: Floats) -> None:
        """Add so much more of the groups to M, and so much less of what classes give alone."""
        self._stack.add_to(M, shares)
        taken = shares @ self._stack.member
        splits.add_to(M, -taken[splits.cuts.classes] * splits.cuts.shares)

    def _step_length(self, splits: SplitThresholds) -> float:
        """Return a safe length: shares act no more strongly than a power iteration tells."""
        shares, norm = np.cos(np.arange(len(self._cuts)) * 2.4), 1.0
        for _ in range(self._params.power_steps):
            M = np.zeros((self._sub.n_free, self._sub.n_free))
            self._exchange(shares / max(norm, 1e-300), splits, M)
            shares = self._above(M, splits)
            norm = float(np.linalg.norm(shares))
        return 1.0 / max(self._params.caution * norm, 1e-12)

    def _best(self, X: Floats, single: Vector) -> list[GroupCut]:
        """Return the groups that give most less at X than the cuts of their classes.

        No class is in more than a few of them; those that share no class have the share 1.
        """
        gains = [float(single[list(cut.group.classes)].sum()) - cut.at(X) for cut in self._pool]
        order = np.argsort(-np.array(gains), kind="stable")[: self._params.largest_pool]
        self._pool = [self._pool[j] for j in order if gains[j] > 0.0]
        uses = np.zeros(self._sub.n_classes)
        result = []
        for cut in self._pool:
            classes = list(cut.group.classes)
            if uses[classes].max() < self._params.new_per_class:
                alone = float(not uses[classes].any())
                result.append(cut._replace(group=cut.group._replace(share=alone)))
                uses[classes] += 1
        return result


def _key(cut: GroupCut) -> tuple[object, ...]:
    """Return what makes a cut another one, its share apart."""
    group = cut.group
    multipliers = group.thresholds.tobytes(), group.given.tobytes()
    families = group.family, group.given_family
    prices = [None if one is None else one.prices.tobytes() for one in families]
    return (group.classes, group.sigma, group.feature, group.given_sigma, *multipliers, *prices)
