"""Subproblem: an instance with some features decided; Part: the same by its features alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.constraints import Budgets, Demands
from qpopt.problem.instance import Instance

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """The demands on a subproblem, over the columns of `Subproblem.columns`.

    Parameters
    ----------
    free
        Classes × columns: where an assignment is neither forbidden nor required.
    required
        Classes × columns: where it is required; only columns of included features are.
    budgets
        How many features every class has, the required ones among them.
    demands
        All of them, in the features of the instance.
    """

    free: NDArray[np.bool_]
    required: NDArray[np.bool_]
    budgets: Budgets
    demands: Demands


@dataclass(frozen=True, eq=False)
class Subproblem:
    """An instance in which `included` features are selected and only `free` ones are undecided.

    For a selection that consists of `included` and a set T of `n_select` free features,
    Z = constant + Σ_c top_k(c) − ½ Σ_{d,e∈T} R_de + Σ_{d∈T} b_d, where top_k may use the forced
    columns as well as those of T.

    Parameters
    ----------
    free, included
        Feature indices of the instance, rising.
    A, forced
        Similarity of the free and of the included features, classes × features.
    R
        Redundancy among the free features.
    b
        Bias of the free features, less their redundancy with the included ones.
    constant
        Bias and redundancy of the included features.
    n_select
        How many free features are to be selected.
    n_per_class
        How many features every class gets.
    cells
        What classes may and must have, and how many: None where there are no demands.
    alike
        Pairs of classes that share all columns but one each, known of a plain instance.
    """

    free: Indices
    included: Indices
    A: NDArray[np.float64]
    forced: NDArray[np.float64]
    R: NDArray[np.float64]
    b: NDArray[np.float64]
    constant: float
    n_select: int
    n_per_class: int
    cells: Cells | None = None
    alike: tuple[tuple[int, int], ...] = ()

    @property
    def n_free(self) -> int:
        """The number of undecided features."""
        return len(self.free)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.A.shape[0])

    @property
    def feasible(self) -> bool:
        """Whether enough features are left to select from, and none too many is included."""
        return 0 <= self.n_select <= self.n_free

    def columns(self) -> NDArray[np.float64]:
        """Return the similarity of the free features followed by that of the included ones."""
        return np.ascontiguousarray(np.concatenate([self.A, self.forced], axis=1))


def undecided(
    instance: Instance, free: Indices | None = None, included: Indices | None = None
) -> tuple[Indices, Indices]:
    """Return the features that are undecided, and those that are selected; see `subproblem`."""
    chosen = np.union1d(instance.included, () if included is None else included).astype(np.int64)
    open_ = np.arange(instance.n_features) if free is None else np.asarray(free, dtype=np.int64)
    open_ = np.setdiff1d(open_, [*chosen.tolist(), *instance.excluded])
    return open_, chosen


def subproblem(
    instance: Instance, free: Indices | None = None, included: Indices | None = None
) -> Subproblem:
    """Decide features of an instance.

    Parameters
    ----------
    instance
        The instance; its `include` and `exclude` are always respected.
    free
        The features that may be selected; by default all that are neither excluded nor included.
    included
        Features to select besides those that the instance includes.

    Returns
    -------
    Subproblem
        The rest of the problem. It need not be feasible.
    """
    open_, chosen = undecided(instance, free, included)
    A, R, b = instance.A, instance.R, instance.b
    return Subproblem(
        free=open_,
        included=chosen,
        A=np.ascontiguousarray(A[:, open_]),
        forced=np.ascontiguousarray(A[:, chosen]),
        R=R[np.ix_(open_, open_)],
        b=b[open_] - R[np.ix_(open_, chosen)].sum(axis=1),
        constant=float(b[chosen].sum() - 0.5 * R[np.ix_(chosen, chosen)].sum()),
        n_select=instance.n_select - len(chosen),
        n_per_class=instance.n_per_class,
        cells=_cells(instance, np.concatenate([open_, chosen])),
        alike=instance.alike,
    )


def _cells(instance: Instance, columns: Indices) -> Cells | None:
    if not instance.demands:
        return None
    free = instance.free_cells[:, columns]
    required = instance.required_cells[:, columns]
    return Cells(free, required, instance.budgets, instance.demands)


def restricted(instance: Instance, features: Indices, included: Indices | None = None) -> Instance:
    """Return an instance that has only some features, given in rising order.

    They must hold all that the instance includes; `included` features are included as well. All
    demands stay.

    Raises
    ------
    InfeasibleInstance
        If the demands leave no solution among these features.
    """
    chosen = instance.included if included is None else included
    return Instance(
        instance.A[:, features],
        instance.R[np.ix_(features, features)],
        instance.b[features],
        instance.n_select,
        instance.n_per_class,
        include=np.searchsorted(features, chosen).tolist(),
        **instance.demands.restricted(features),
    )


class Part(NamedTuple):
    """The selections that contain `included` and otherwise only features of `free`; Z ≤ `bound`."""

    free: Indices
    included: Indices
    bound: float
