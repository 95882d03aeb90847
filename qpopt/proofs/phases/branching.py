"""Branch: branch and bound on what is left."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpopt.problem.subproblem import Part, subproblem
from qpopt.proofs.distributed.cluster_tree import ClusterTree
from qpopt.proofs.driver import Proof
from qpopt.proofs.handover import Finish
from qpopt.proofs.node import Node
from qpopt.proofs.parallel.parallel_tree import ParallelTree
from qpopt.proofs.phases.small_parts import hand_over_rest, look_at_all, most_selections
from qpopt.proofs.root import RootBound
from qpopt.proofs.tree import Tree
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation


@dataclass(frozen=True)
class Branch:
    """Branch and bound on the parts that are left.

    Parameters
    ----------
    enumerates
        Whether all selections of a part are looked at where they are few.
    finish
        Solves the instance of an incumbent by a MIP solver; None where there is none.
    client
        Of a cluster whose workers branch; None to do it here.
    """

    enumerates: bool = True
    finish: Finish | None = None
    client: Any = None

    def __call__(self, proof: Proof) -> None:
        """Go on until nothing better is left, or time is up."""
        root = proof.root
        if root is not None and root.time_to_end(proof.incumbent.clock):
            return
        if root is not None and len(proof.parts) == 1 and self._end_at_once(proof, root.iterate):
            return
        bound = proof.incumbent.bound
        open_ = [
            (part._replace(bound=min(part.bound, bound)), record) for part, record in proof.open()
        ]
        n_selections = most_selections(proof) if self.enumerates else 0
        if self.client is not None:
            parts = [part for part, _ in open_]
            proof.tree = ClusterTree(proof.incumbent, parts, n_selections, self.client)
        else:
            nodes = [
                Node(proof.instance, *part, _start(root, part), record) for part, record in open_
            ]
            # More processes than processors take memory and give nothing.
            threads = min(proof.incumbent.limits.threads or 1, os.cpu_count() or 1)
            # A record is written here, step by step, and only here are demands known.
            alone = proof.recording is not None or bool(proof.incumbent.instance.demands)
            if threads > 1 and not alone:
                proof.tree = ParallelTree(proof.incumbent, nodes, n_selections, threads)
            else:
                proof.tree = Tree(proof.incumbent, nodes, n_selections)
        proof.tree.run(proof.pause)

    def _end_at_once(self, proof: Proof, start: SemidefiniteRelaxation | None) -> bool:
        """Look at all selections of the only part, or hand it over; tell whether that was the end.

        What `start`, the iterate of the root, proves is of use only where it is one of this part.
        """
        (part,) = proof.parts
        rest = subproblem(proof.instance, part.free, part.included)
        same = start is not None and np.array_equal(start.sub.free, rest.free)
        relaxation = start.relaxation() if start is not None and same else None
        share = proof.params.enumeration_after_bounds
        if self.enumerates and look_at_all(proof, rest, relaxation, share):
            return True
        return self.finish is not None and hand_over_rest(
            proof, rest, self.finish, proof.params.solver_after_bounds
        )


def _start(root: RootBound | None, part: Part) -> SemidefiniteRelaxation | None:
    """Return the iterate of the root that a part can start from: the last one that covers it."""
    iterates = [] if root is None else [*root.layers, root.iterate]
    for one in reversed(iterates):
        if one is not None and np.isin(part.free, one.sub.free).all():
            known = np.union1d(one.sub.free, one.sub.included)
            if np.isin(part.included, known).all():
                return one
    return None
