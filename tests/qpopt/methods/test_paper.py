from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from qpopt import Instance, Status, generate, solve, verify
from qpopt.solvers import Availability, LicenceLimits, SolverResult
from qpopt.solvers.highs_ import Highs
from tests.brute_force import all_selections, value
from tests.installed import solvers

BY_HAND = Instance(
    [[9.0, 9.25, 8.0], [7.0, 1.0, 2.0], [6.0, 5.0, 4.5]], np.zeros((3, 3)), np.zeros(3), 3, 2
)


@pytest.mark.parametrize("solver", solvers())
def test_the_rounds_by_hand(solver):
    """Three features are all selected, so only the classes' sets change from round to round.

    Round 1 prescribes six entries in all and takes the six largest: 9, 9.25, 8 for class 0, 7 for
    class 1, 6 and 5 for class 2. Round 2 makes class 1, which was short, find two in Γ, at the
    cost of class 2; round 3 does the same for class 2. Now 0 and 2 have {0, 1} both. Round 4 tells
    them apart, for which class 2 takes feature 2 and becomes equal to class 1; round 5 tells these
    apart as well, and class 0 moves to {1, 2}.
    """
    solution = solve(BY_HAND, method="paper", solver=solver, gap=0.0)
    rounds = solution.details["rounds"]
    assert [r["objective"] for r in rounds] == pytest.approx([44.25, 41.25, 38.25, 37.75, 37.25])
    assert [(r["short"], r["equal"]) for r in rounds] == [(1, 0), (1, 0), (0, 1), (0, 1), (0, 0)]
    assert [(r["gamma"], r["c_sparse"], r["c_duplicates"]) for r in rounds] == [
        (0, 0, 0),
        (3, 1, 0),
        (3, 2, 0),
        (3, 2, 1),
        (3, 2, 2),
    ]
    assert solution.class_sets() == [(1, 2), (0, 2), (0, 1)]
    assert solution.objective == 37.25


def test_the_starts_by_hand(monkeypatch):
    """Each round starts from the best two features of every class, in the end without duplicates.

    Classes 0 and 2 both like {0, 1} best. Class 0 loses 1 by giving feature 0 for 2; class 2 would
    lose less by giving 1 for 2, but then it would be equal to class 1.
    """
    starts = []
    real = Highs.solve

    def spy(self, model, settings):
        if settings.start is not None:
            w = model.block("w", settings.start)
            starts.append([tuple(np.flatnonzero(row).tolist()) for row in w])
        return real(self, model, settings)

    monkeypatch.setattr(Highs, "solve", spy)
    solve(BY_HAND, method="paper", solver="highs", gap=0.0)
    best, distinct = [(0, 1), (0, 2), (0, 1)], [(1, 2), (0, 2), (0, 1)]
    assert starts == [best, best, distinct, distinct]


def best_of_a_round(instance, gamma, short):
    """Objective and selection of a round without uniqueness, by trying everything.

    Every class has a feature, those in `short` n_per_class of `gamma`, all together n_per_class
    times the number of classes.
    """
    total = instance.n_classes * instance.n_per_class

    def best_sets(c, selection):
        """The best value of the class for every number of features."""
        forced = instance.n_per_class if c in short else 0
        own = sorted((d for d in selection if d in gamma), key=lambda d: -instance.A[c, d])[:forced]
        rest = sorted((instance.A[c, d] for d in selection if d not in own), reverse=True)
        start = instance.A[c, own].sum()
        values = {forced + m: start + sum(rest[:m]) for m in range(len(rest) + 1)}
        return {m: v for m, v in values.items() if m >= 1} if len(own) == forced else {}

    def best(selection):
        classes = [best_sets(c, selection).items() for c in range(instance.n_classes)]
        sums = [sum(v for _, v in of) for of in product(*classes) if sum(m for m, _ in of) == total]
        return value(instance, selection, []) + max(sums, default=-np.inf)

    return max((best(selection), selection) for selection in all_selections(instance))


def test_it_solves_again_while_gamma_grows_and_helps():
    """Nothing is violated in round 2, but its selection makes Γ larger, twice."""
    instance = generate(10, 3, 6, 2, seed=28)
    solution = solve(instance, method="paper", solver="highs", gap=0.0)
    rounds = solution.details["rounds"]
    assert [(r["short"], r["equal"]) for r in rounds] == [(2, 0), (0, 0), (0, 0), (0, 0)]
    assert [r["gamma"] for r in rounds] == [0, 6, 7, 8]
    # Round 1 gives classes 0 and 1 one feature each and class 2 four.
    gamma, short = set(), ()
    for made in rounds:
        found, selection = best_of_a_round(instance, gamma, short)
        assert made["objective"] == pytest.approx(found)
        gamma, short = gamma | set(selection), (0, 1)
    assert gamma == {0, 1, 2, 3, 4, 5, 6, 8}
    assert solution.objective == pytest.approx(rounds[-1]["objective"])


def test_the_number_of_rounds_is_limited():
    instance = generate(12, 6, 5, 2, seed=5)
    solution = solve(instance, method="paper", solver="highs", options={"max_rounds": 1})
    assert len(solution.details["rounds"]) == 1
    assert not solution.details["finished"]
    assert solution.status is Status.FEASIBLE


def test_a_round_may_have_a_time_limit_of_its_own(monkeypatch):
    limits = []
    real = Highs.solve

    def spy(self, model, request):
        limits.append(request.limits.time_limit)
        return real(self, model, request)

    monkeypatch.setattr(Highs, "solve", spy)
    options = {"round_time_limit": 50.0}
    solve(BY_HAND, method="paper", solver="highs", options=options)
    assert limits == [50.0] * 5
    limits.clear()
    solve(BY_HAND, method="paper", solver="highs", time_limit=20.0, options=options)
    assert len(limits) == 5
    assert all(later < sooner <= 20.0 for sooner, later in pairwise(limits))


def test_a_round_out_of_time_goes_on_from_its_start():
    """HiGHS then gives the start back: the clique, on which the scheme repairs what is equal."""
    instance = generate(12, 6, 5, 2, seed=5)
    options = {"round_time_limit": 0.0}
    solution = solve(instance, method="paper", solver="highs", options=options)
    assert solution.selection.tolist() == list(instance.provenance["clique"])
    assert [r["status"] for r in solution.details["rounds"]] == ["feasible"] * 2
    assert [r["equal"] > 0 for r in solution.details["rounds"]] == [True, False]
    assert solution.details["finished"]
    assert verify(instance, solution)


def test_a_model_that_outgrows_a_licence_keeps_what_was_found(monkeypatch):
    """The first model has 84 variables; classes that are equal add more in a later round."""
    instance = generate(12, 6, 5, 2, seed=5, epsilon=10.0)
    limited = Availability(True, "1", lambda: LicenceLimits(84, 2000, 84))
    monkeypatch.setattr(Highs, "availability", lambda self: limited)
    solution = solve(instance, method="paper", solver="highs")
    assert "84 variables" in solution.details["stopped"]
    assert solution.status is Status.FEASIBLE
    assert verify(instance, solution)


def test_it_starts_from_the_clique_of_prepare(monkeypatch):
    starts = []

    def refuse(self, model, settings):
        starts.append(np.flatnonzero(model.block("s", settings.start)))
        return SolverResult(Status.NO_SOLUTION)

    monkeypatch.setattr(Highs, "solve", refuse)
    instance = generate(40, 10, 8, 3)
    solution = solve(instance, method="paper", solver="highs")
    assert [start.tolist() for start in starts] == [list(instance.provenance["clique"])]
    assert solution.status is Status.NO_SOLUTION


def test_pairs_are_part_of_every_round():
    """Classes 0 and 1 want nothing alike, and share a feature from the first round on."""
    A = [[9.0, 8.0, 0.0, 0.0], [0.0, 0.0, 9.0, 8.0], [5.0, 0.0, 0.0, 5.0]]
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 4, 2, pairs=[(0, 1)])
    solution = solve(instance, method="paper", solver="highs", gap=0.0)
    # Round 1 may leave class 2 one feature, and gives three to class 0 or 1: 9 + 8, 9 + 8 + 0, 5.
    assert solution.details["rounds"][0]["objective"] == pytest.approx(39.0)
    # Each gives its second feature for the first one of the other, or one of them does.
    assert solution.objective == pytest.approx(17.0 + 9.0 + 10.0)
    assert verify(instance, solution)


def test_gamma_is_widened_where_demands_cannot_be_met_within_it():
    """Round 1 gives class 2 one feature, of two that are selected and not forbidden to it."""
    A = [[9.0, 8.0, 7.0, 0.0, 0.0], [9.0, 7.0, 8.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0, 1.0]]
    barred = [(2, 0), (2, 1), (2, 2)]
    instance = Instance(A, np.zeros((5, 5)), np.zeros(5), 4, 2, forbidden=barred)
    solution = solve(instance, method="paper", solver="highs", gap=0.0)
    statuses = [r["status"] for r in solution.details["rounds"]]
    assert statuses[:2] == ["optimal", "infeasible"]
    assert solution.details["rounds"][2]["gamma"] == 5
    # Two of the first three features, and both of the others.
    assert solution.selection.tolist()[2:] == [3, 4]
    assert verify(instance, solution)
    assert solution.status == "feasible"
