"""Search: good solutions first."""

from __future__ import annotations

from dataclasses import dataclass

from qpopt.problem.assigning.multipliers import has_multipliers, multipliers_at
from qpopt.problem.subproblem import subproblem
from qpopt.proofs.driver import Proof
from qpopt.search.budget import Budget
from qpopt.search.enumeration import n_selections
from qpopt.search.local_search import search
from qpopt.search.search_view import SearchView

FEW_SELECTIONS = 10**8
"""Below this, looking at all selections takes no longer than a search."""


@dataclass(frozen=True)
class Search:
    """Look for a good solution by swaps.

    Parameters
    ----------
    seconds
        How long; None decides by the limits and by what it gains.
    enumerates
        Whether few selections are looked at one by one afterwards, so that little is enough.
    """

    seconds: float | None = None
    enumerates: bool = True

    def __call__(self, proof: Proof) -> None:
        """Offer the incumbent what is found."""
        params, patience = proof.params, None
        seconds = self.seconds
        if seconds is None:
            seconds, patience = proof.time(params.search), params.search_patience
            size = n_selections(subproblem(proof.instance))
            if self.enumerates and size < params.most_selections:
                few = size < FEW_SELECTIONS
                seconds = min(seconds, params.quick_search if few else params.short_search)
        search(proof.incumbent, Budget(proof.incumbent, seconds=seconds, patience=patience))


class Price:
    """Let what is bounded follow the best solution: what its demands cost there."""

    def __call__(self, proof: Proof) -> None:
        """Take multipliers at the best solution, or at a greedy one."""
        instance, incumbent = proof.incumbent.instance, proof.incumbent
        if not has_multipliers(instance):
            return
        if incumbent.best is not None:
            selection = incumbent.best.selection
        else:
            selection = SearchView(incumbent).greedy()
            selection = selection[selection < instance.n_features]
        proof.relax(multipliers_at(instance, selection))
