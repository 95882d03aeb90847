"""What the demands of an instance come to, as every method needs it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.constraints import Average, Budgets, DemandArguments, Demands
from qpopt.problem.facts import Facts

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Mask = NDArray[np.bool_]


class Demanding(Facts):
    """The demands of an instance by their plain names, and what they come to."""

    n_select: int
    n_per_class: int
    include: tuple[int, ...]
    exclude: tuple[int, ...]
    demands: Demands
    # Pairs of classes that solutions of interest give all columns but one in common: of the plain
    # instance in place of one that demands them.
    alike: ClassVar[tuple[tuple[int, int], ...]] = ()

    def with_demands(self, **demands: Unpack[DemandArguments]) -> Self:
        """Return the same instance with these demands in place of its own of the same names.

        An empty one takes a demand away.

        Examples
        --------
        >>> import qpopt
        >>> instance = qpopt.generate(12, 6, 5, 2)
        >>> instance.with_demands(forbidden=[(0, 3)], classes_per_feature=(1, 4)).demands.stated
        ('forbidden', 'classes_per_feature')
        """
        if demands.get("rho") is not None:
            demands.setdefault("pairs", ())
        made_of: Any = self.__reduce__()
        make, arrays = made_of
        made: Self = make(*arrays, **demands)
        return made

    @property
    def forbidden(self) -> tuple[tuple[int, int], ...]:
        """Pairs (class, feature) that no assignment may contain."""
        return self.demands.forbidden

    @property
    def required(self) -> tuple[tuple[int, int], ...]:
        """Pairs (class, feature) that every assignment must contain."""
        return self.demands.required

    @property
    def classes_per_feature(self) -> tuple[int, int] | None:
        """How many classes a selected feature serves, or None where that is free."""
        return self.demands.classes_per_feature

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of classes that share all features but one each."""
        return self.demands.pairs

    @property
    def n_pairs(self) -> int:
        """How many such pairs there must be, no matter which; 0 where that is free."""
        return self.demands.n_pairs

    @property
    def max_shared(self) -> int | None:
        """How many features two classes that are no pair may share, or None."""
        return self.demands.max_shared

    @property
    def budget(self) -> tuple[int, ...] | Average | None:
        """The number of features of every class, an Average, or None for `n_per_class`."""
        return self.demands.budget

    @property
    def negative(self) -> tuple[int, float] | None:
        """How many negatives a class may have, and what one is worth, or None."""
        return self.demands.negative

    @property
    def most_negative(self) -> int:
        """How many negatives a class may have; 0 where there are none."""
        return 0 if self.negative is None else self.negative[0]

    @property
    def gamma(self) -> float:
        """What a negative is worth, as a multiple of −a_cd."""
        return 1.0 if self.negative is None else self.negative[1]

    @property
    def uses(self) -> tuple[int, int]:
        """How many classes a selected feature serves, at least and at most."""
        return self.classes_per_feature or (0, self.n_classes)

    @cached_property
    def included(self) -> tuple[int, ...]:
        """Features that every selection contains: those of `include`, and all that are required."""
        return tuple(sorted({*self.include, *(d for _, d in self.required)}))

    @cached_property
    def excluded(self) -> tuple[int, ...]:
        """Features that no selection contains: those of `exclude`, and those too few may use."""
        least, _ = self.uses
        few = np.flatnonzero((~self.forbidden_cells).sum(axis=0) < least)
        return tuple(sorted({*self.exclude, *few.tolist()}))

    @cached_property
    def forbidden_cells(self) -> Mask:
        """Classes × features: where an assignment is forbidden."""
        return _mask(self.A.shape, self.forbidden)

    @cached_property
    def required_cells(self) -> Mask:
        """Classes × features: where an assignment is required."""
        return _mask(self.A.shape, self.required)

    @cached_property
    def free_cells(self) -> Mask:
        """Classes × features: where it is neither, and the feature is not excluded (N_c)."""
        free = ~(self.forbidden_cells | self.required_cells)
        free[:, list(self.excluded)] = False
        free.setflags(write=False)
        return free

    @cached_property
    def budgets(self) -> Budgets:
        """How many features every class has at least and at most (l_c, u_c), and all together.

        A class has at least what it requires, and at most what it may use.
        """
        n_classes, budget = self.n_classes, self.budget
        if isinstance(budget, Average):
            required, free = self.required_cells.sum(axis=1), self.free_cells.sum(axis=1)
            least = np.maximum(budget.least, required)
            most = np.minimum(budget.most or self.n_select, required + free)
            total = self.n_per_class * n_classes
        else:
            numbers = (self.n_per_class,) * n_classes if budget is None else budget
            least = most = np.array(numbers)
            total = int(least.sum())
        bounds = least.astype(np.int64), most.astype(np.int64)
        for each in bounds:
            each.setflags(write=False)
        return Budgets(*bounds, total)

    def class_label(self, c: int) -> str:
        """Return how errors call class `c`: its number, with its name where it has one."""
        return f"class {c}" if self.class_names is None else f"class {c} ({self.class_names[c]})"


def _mask(shape: tuple[int, ...], cells: tuple[tuple[int, int], ...]) -> Mask:
    mask = np.zeros(shape, dtype=bool)
    if cells:
        mask[tuple(np.array(cells).T)] = True
    mask.setflags(write=False)
    return mask
