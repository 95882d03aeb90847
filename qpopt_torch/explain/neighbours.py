"""Neighbours: classes that differ in one feature, and a map of all classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram, leaves_list, linkage
from scipy.spatial.distance import pdist

from qpopt_torch.errors import require_sparse
from qpopt_torch.evidence.names import Names
from qpopt_torch.evidence.sample import columns_in
from qpopt_torch.evidence.weighing import require_sums
from qpopt_torch.explain.explanation import Explanation
from qpopt_torch.explain.plotting import ACCENT, plain, subplots
from qpopt_torch.sparse.classifier import SparseClassifier

LISTED = 12
ORDERED = 1500
BLOCK = 256


@dataclass(frozen=True, eq=False, repr=False)
class Neighbours(Explanation):
    """How close the classes are by the features that they share.

    Parameters
    ----------
    names
        Names of classes and features.
    assignment
        Boolean, classes × selected features.
    pairs
        Pairs of classes that differ in one feature each, as (first, second, feature of the first
        alone, feature of the second alone), features as columns.
    """

    names: Names
    assignment: NDArray[np.bool_]
    pairs: tuple[tuple[int, int, int, int], ...]

    title = "Neighbouring classes"

    @cached_property
    def tree(self) -> NDArray[np.float64]:
        """Average linkage of the classes, as scipy writes it; few leaves are in their best order.

        The distance of two classes is the share of features that they do not have in common.
        """
        if len(self.assignment) < 2:
            return np.zeros((0, 4))
        distances = pdist(self.assignment, "jaccard")
        # The best order takes time that grows with the cube of the classes.
        best = len(self.assignment) <= ORDERED
        tree: NDArray[np.float64] = linkage(distances, "average", optimal_ordering=best)
        return tree

    @cached_property
    def class_order(self) -> tuple[int, ...]:
        """The classes in the order of the leaves of the tree."""
        if not len(self.tree):
            return tuple(range(len(self.assignment)))
        return tuple(leaves_list(self.tree).tolist())

    @cached_property
    def feature_order(self) -> tuple[int, ...]:
        """The features, each where the classes that use it are on average."""
        place = np.empty(len(self.class_order))
        place[list(self.class_order)] = np.arange(len(self.class_order))
        counts = np.maximum(self.assignment.sum(axis=0), 1)
        centres = (self.assignment * place[:, None]).sum(axis=0) / counts
        return tuple(np.argsort(centres, kind="stable").tolist())

    def graph(self) -> Any:
        """Return a networkx graph: a node for every class, an edge for every pair.

        Nodes are numbers of classes and carry `name` and `features`; edges carry as `features` what
        the first and the second class have alone.
        """
        import networkx

        features = self.names.features
        graph = networkx.Graph()
        for c, (name, row) in enumerate(zip(self.names.classes, self.assignment, strict=True)):
            graph.add_node(c, name=name, features=tuple(features[j] for j in columns_in(row)))
        for a, b, i, j in self.pairs:
            graph.add_edge(a, b, features=(features[i], features[j]))
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs, the tree and the order of the classes."""
        classes, features = self.names.classes, self.names.features
        return {
            "pairs": [
                {"classes": [classes[a], classes[b]], "features": [features[i], features[j]]}
                for a, b, i, j in self.pairs
            ],
            "order": [classes[c] for c in self.class_order],
            "tree": self.tree.tolist(),
        }

    def summary(self) -> str:
        """Count the pairs and name the first ones."""
        classes, features = self.names.classes, self.names.features
        lines = [f"{len(self.pairs)} pairs of classes differ in one feature."]
        lines += [
            f"{classes[a]} has {features[i]} where {classes[b]} has {features[j]}."
            for a, b, i, j in self.pairs[:LISTED]
        ]
        return "\n".join(lines)

    def figure(self) -> tuple[Any, Any]:
        """Draw the tree of the classes beside the assignment in its order."""
        n_classes, n_select = self.assignment.shape
        height = max(2.5, 0.16 * n_classes + 1)
        fig, axes = subplots(1, 2, max(3.0, 0.11 * n_select + 1), height)
        left, right = axes[0]
        if len(self.tree):
            colours = {"color_threshold": 0, "above_threshold_color": "#52606d"}
            dendrogram(self.tree, orientation="left", no_labels=True, ax=left, **colours)
        left.set_ylim(10 * n_classes, 0)
        left.axis("off")
        shown = self.assignment[np.ix_(self.class_order, self.feature_order)]
        rows, columns = np.nonzero(shown)
        right.scatter(columns, rows, s=14, marker="s", color=ACCENT)
        right.set_ylim(n_classes - 0.5, -0.5)
        classes = [plain(self.names.classes[c]) for c in self.class_order]
        features = [plain(self.names.features[j]) for j in self.feature_order]
        right.set_yticks(range(n_classes), classes, fontsize=6)
        right.set_xticks(range(n_select), features, fontsize=6, rotation=90)
        right.spines[["top", "right"]].set_visible(False)
        fig.suptitle(self.title, fontsize=11)
        return fig, axes[0]


def explain_neighbours(
    model: SparseClassifier, *, class_names: Sequence[str] | None = None
) -> Neighbours:
    """Find the classes that differ in one feature, and a tree of all classes.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> told = qpopt_torch.explain.explain_neighbours(sparse)
    >>> told.tree.shape
    (3, 4)
    """
    require_sparse(model, "explain_neighbours")
    require_sums(model.sparse_head)
    return neighbours_of(Names(model, class_names), model.assignment)


def neighbours_of(names: Names, assignment: NDArray[np.bool_]) -> Neighbours:
    """Find the neighbours of an assignment."""
    counts = assignment.astype(np.float32)  # whole numbers far below 2²⁴: the products are exact
    sizes = counts.sum(axis=1)
    pairs = []
    for first in range(0, len(counts), BLOCK):
        shared = counts[first : first + BLOCK] @ counts.T
        near = (sizes[first : first + BLOCK, None] - shared == 1) & (sizes - shared == 1)
        for a, b in np.argwhere(near).tolist():
            a += first
            if a < b:
                (i,), (j,) = (
                    columns_in(assignment[p] & ~assignment[q]) for p, q in ((a, b), (b, a))
                )
                pairs.append((a, b, i, j))
    return Neighbours(names, assignment, tuple(pairs))
