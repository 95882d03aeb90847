"""Instance: one problem, stated completely and checked on construction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.errors import InvalidFile, InvalidInstance
from qpopt.io.archive import opened_archive, save_archive
from qpopt.io.json_values import freeze, plain
from qpopt.io.packing import pack_triangle, unpack_triangle
from qpopt.problem import validation
from qpopt.problem.assigning.flow import flow_assignment
from qpopt.problem.constraints import DemandArguments
from qpopt.problem.demands.arguments import changes_sets, demands_of
from qpopt.problem.demands.counting import check_demands
from qpopt.problem.demands.views import Demanding
from qpopt.problem.objective import Objective, best_assignment, objective

if TYPE_CHECKING:
    import networkx
    from typing_extensions import Unpack


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Instance(Demanding):
    """The problem of choosing `n_select` features and giving every class `n_per_class` of them.

    An instance is immutable: its arrays are read-only copies in float64, and they enter the
    objective exactly as they are. Two instances are equal when fingerprint and hint are.

    Parameters
    ----------
    A
        Similarity, classes × features: how much assigning feature d to class c helps.
    R
        Redundancy, features × features: symmetric, non-negative, zero diagonal; dense or
        scipy.sparse. Asymmetry up to rounding is evened out by taking the upper triangle.
    b
        Bias, one value per feature: how much it is wanted for its own sake.
    n_select
        How many features are selected.
    n_per_class
        How many of the selected features every class gets.
    include
        Features that every selection must contain.
    exclude
        Features that no selection may contain.
    hint
        A selection to start from, such as one without redundancy. Methods pass over one that does
        not fit the counts, so that it may stay where `n_select`, `include` or `exclude` change.
    class_names, feature_names
        Names for people to read; numbers take their place where there are none.
    name
        A short name of the instance.
    provenance
        Where the instance comes from: anything that JSON can hold.
    **demands
        What is wanted beyond the counts, all of it empty by default:

        - `forbidden`, `required`: pairs (class, feature) that no assignment may, and every
          assignment must, contain.
        - `classes_per_feature`: (m, M), how many classes a selected feature serves at least and at
          most; None stands for 0 or for all.
        - `pairs`: pairs of classes that share all features but one each, or how many such pairs
          there must be, no matter which. `rho` chooses them: ⌊rho · n_classes⌋ pairs of classes
          whose rows of A lie closest.
        - `max_shared`: how many features any two other classes may share.
        - `budget`: one number of features for each class in place of `n_per_class`, or a
          `qpopt.Average` for `n_per_class` on average.
        - `negative`: (q, gamma), at most q features of a class count by their absence, which is
          worth −gamma · a_cd; a number alone means gamma = 1.

    Raises
    ------
    InvalidInstance
        If the data is malformed.
    InfeasibleInstance
        If the data is well formed but no solution can exist.

    Examples
    --------
    >>> import numpy as np
    >>> import qpopt
    >>> A = np.array([[9.0, 5, 1, 4], [8, 6, 2, 3], [1, 2, 7, 6]])
    >>> R = np.zeros((4, 4))
    >>> R[0, 1] = R[1, 0] = 2
    >>> qpopt.Instance(A, R, np.zeros(4), n_select=3, n_per_class=2)
    Instance(3 classes × 4 features, select 3, 2 per class)
    """

    A: NDArray[np.float64]
    R: NDArray[np.float64]
    b: NDArray[np.float64]
    n_select: int
    n_per_class: int
    include: tuple[int, ...]
    exclude: tuple[int, ...]
    hint: tuple[int, ...]
    class_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    name: str
    provenance: Mapping[str, Any]

    def __init__(
        self,
        A: ArrayLike,
        R: Any,
        b: ArrayLike,
        n_select: int,
        n_per_class: int,
        *,
        include: Iterable[int] = (),
        exclude: Iterable[int] = (),
        hint: Iterable[int] = (),
        class_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        name: str = "",
        provenance: Mapping[str, Any] | None = None,
        **demands: Unpack[DemandArguments],
    ) -> None:
        similarity = validation.matrix("A", A)
        n_classes, n_features = similarity.shape
        redundancy = validation.redundancy(R, n_features)
        bias = validation.vector("b", b, n_features)
        n_select, n_per_class, included, excluded = validation.check_counts(
            n_features, n_classes, n_select, n_per_class,
            include=include, exclude=exclude, alike=not changes_sets(demands),
        )  # fmt: skip
        said = {} if provenance is None else provenance
        values = {
            "A": similarity,
            "R": redundancy,
            "b": bias,
            "n_select": n_select,
            "n_per_class": n_per_class,
            "include": included,
            "exclude": excluded,
            "hint": validation.features("hint", hint, n_features),
            "class_names": validation.names("class_names", class_names, n_classes),
            "feature_names": validation.names("feature_names", feature_names, n_features),
            "name": str(name),
            "provenance": freeze("provenance", said, InvalidInstance),
            "demands": demands_of(similarity, n_select, n_per_class, demands),
        }
        for key, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, key, value)
        if self.demands or changes_sets(demands):
            check_demands(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over A, R, b, counts, `include`, `exclude`, demands: the same on every machine.

        Names, provenance and hint do not count: they leave the solutions of an instance valid.
        """
        counts = [self.n_classes, self.n_features, self.n_select, self.n_per_class]
        stated = [self.demands.arguments()] if self.demands else []
        header = json.dumps([counts, self.include, self.exclude, *stated])
        digest = hashlib.sha256(f"qpopt instance 1 {header}".encode())
        positions, values = self.redundant_pairs()
        for array in (self.A, self.b, positions, values):
            digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
        return digest.hexdigest()

    def redundant_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return every pair of features with positive redundancy, once.

        Returns
        -------
        tuple
            The pairs as rows (d, d') with d < d' in lexicographic order, and their redundancies.
        """
        pairs = np.argwhere(np.triu(self.R, 1))
        return pairs.astype(np.int64), self.R[pairs[:, 0], pairs[:, 1]]

    def redundancy_graph(self) -> networkx.Graph[int]:
        """Return the features as a networkx graph whose edges are the redundant pairs.

        Nodes are feature indices with their `name`; `weight` of an edge is the redundancy. A
        selection without redundancy is an independent set of it.
        """
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from((d, {"name": self.feature_name(d)}) for d in range(self.n_features))
        pairs, values = self.redundant_pairs()
        graph.add_weighted_edges_from(np.column_stack([pairs.astype(object), values]).tolist())
        return graph

    def objective(self, selection: ArrayLike, assignment: ArrayLike | None = None) -> Objective:
        """Compute Z and its parts for a selection; the counts need not be those of the instance.

        Parameters
        ----------
        selection
            Indices of the selected features, or a boolean mask over all features.
        assignment
            0/1 matrix, classes × selected features (in the order of `selection`) or, unless all
            features are selected, classes × all features; −1 for a negative. Without it every class
            gets its best `n_per_class` selected features, ignoring uniqueness; under demands it
            is the best assignment that ignores uniqueness, `pairs` and `max_shared`.

        Returns
        -------
        Objective
            total, similarity, redundancy and bias.
        """
        selected = validation.selection(selection, self.n_features)
        assigned: validation.Assigned
        if assignment is None and self.demands:
            assigned = flow_assignment(self, selected)
        elif assignment is None:
            if len(selected) < self.n_per_class:
                raise InvalidInstance(
                    f"{len(selected)} selected features cannot give every class "
                    f"{self.n_per_class}; select more or pass an assignment."
                )
            assigned = best_assignment(self.A, selected, self.n_per_class)
        else:
            assigned = validation.assignment(assignment, self.n_classes, selected, self.n_features)
        return objective(self.A, self.R, self.b, selected, assigned, self.gamma)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the instance to one compressed .npz file.

        Beside A and b in float64 it holds R as the upper triangle row by row: one packed bit a
        pair, which says whether it is positive, and the positive values in the same order.
        """
        meta = {"fingerprint": self.fingerprint, **{name: getattr(self, name) for name in VALUES}}
        meta |= {"demands": self.demands.arguments()} if self.demands else {}
        redundant, redundancy = pack_triangle(self.R)
        arrays = {"A": self.A, "b": self.b, "redundant": redundant, "redundancy": redundancy}
        save_archive(path, "instance", meta, arrays)

    def export(
        self, path: str | PathLike[str], *, formulation: str = "compact", uniqueness: bool = True
    ) -> None:
        """Write a formulation as an MPS, LP or QPLIB file; see `qpopt.export`."""
        from qpopt.export.write import export

        export(self, path, formulation=formulation, uniqueness=uniqueness)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Instance:
        """Read an instance that `save` wrote.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged, not an instance, or of a newer format.
        """
        with opened_archive(path, "instance") as (arrays, meta):
            A, b = arrays["A"], arrays["b"]
            if A.ndim != 2 or b.shape != A.shape[1:]:
                raise InvalidFile(f"{path} is damaged: A and b do not fit together.")
            R = unpack_triangle(arrays["redundant"], arrays["redundancy"], b.size)
            # Files written before there were hints have none.
            values = {name: meta[name] for name in VALUES if name != "hint" or name in meta}
            instance = cls(A, R, b, **values, **meta.get("demands", {}))
            if instance.fingerprint != meta["fingerprint"]:
                raise InvalidFile(f"{path} is damaged: its content does not match its fingerprint.")
        return instance

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in VALUES}
        values |= {"provenance": plain(self.provenance), **self.demands.arguments()}
        return partial(Instance, **values), (self.A, self.R, self.b)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return self.fingerprint == other.fingerprint and self.hint == other.hint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        fixed = f", include {len(self.include)}" if self.include else ""
        fixed += f", exclude {len(self.exclude)}" if self.exclude else ""
        fixed += f", {self.demands}" if self.demands else ""
        return (
            f"Instance({label}{self.n_classes} classes × {self.n_features} features, "
            f"select {self.n_select}, {self.n_per_class} per class{fixed})"
        )


VALUES = tuple(field.name for field in fields(Instance))[3:]
"""All that an instance holds beside its arrays."""
