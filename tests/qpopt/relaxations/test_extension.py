"""Extension: more features join, and every value stays a bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt.problem.subproblem import subproblem
from qpopt.relaxations.admm import Admm
from qpopt.relaxations.extension import extend, settle
from qpopt.relaxations.semidefinite import SemidefiniteParams, SemidefiniteRelaxation
from tests.awkward import awkward_instances
from tests.brute_force import brute_force


def objective(seed, n):
    C = np.random.default_rng(seed).uniform(-1.0, 0.2, (n, n))
    return 0.5 * (C + C.T) + np.eye(n)


def started(C, m, positions):
    admm = Admm(C[np.ix_(positions, positions)], m)
    for _ in range(30):
        admm.step()
    return admm


def test_the_new_slack_is_positive_semidefinite():
    C, old = objective(1, 12), np.array([0, 2, 3, 5, 8, 9, 11])
    admm = started(C, 3, old)
    before = admm.symmetric_S()
    new = extend(admm, old, C)
    assert new.tolist() == [1, 4, 6, 7, 10]
    np.testing.assert_array_equal(admm.S[np.ix_(old, old)], before)
    values = np.linalg.eigvalsh(admm.S)
    assert values[0] >= -1e-5 * values[-1]
    # Off the diagonal, what is left between the slack and S is what N holds, or is not covered.
    rest = admm.slack(C) - admm.S
    np.testing.assert_allclose(
        admm.N[np.ix_(new, new)], np.maximum(rest[np.ix_(new, new)], 0) * (1 - np.eye(5)), atol=1e-9
    )


def test_weights_change_the_norms_and_not_the_problem():
    """In the limit, weighted steps end where plain ones do."""
    C = objective(2, 10)
    plain, weighted = (Admm(C, 3) for _ in range(2))
    for _ in range(600):
        plain.step()
    weights = np.linspace(0.4, 1.0, 10)
    weighted.weigh(weights)
    for _ in range(600):
        weighted.step(settling=True)
    weighted.weigh(np.ones(10))
    assert 3 * weighted.t == pytest.approx(3 * plain.t, rel=1e-3)
    np.testing.assert_allclose(weighted.X, plain.X, atol=2e-2)
    assert np.trace(weighted.X) == pytest.approx(3.0, rel=1e-3)


def test_settling_stops_when_told_and_takes_the_weights_back():
    C, old = objective(3, 9), np.arange(6)
    admm = started(C, 3, old)
    new = extend(admm, old, C)
    X, S = admm.X.copy(), admm.S.copy()
    settle(admm, new, 5, stop=lambda: True)
    np.testing.assert_allclose(admm.X, X)
    np.testing.assert_allclose(admm.S, S, atol=1e-12)
    steps = admm.steps
    settle(admm, new, 4)
    assert admm.steps == steps + 4


@settings(max_examples=40)
@given(awkward_instances(max_features=8), st.integers(1, 4), st.integers(0, 3), st.integers(0, 6))
def test_never_below_the_optimum(instance, left_out, rounds, steps_to_settle):
    whole = subproblem(instance)
    some = whole.free[: max(whole.n_select, whole.n_free - left_out)]
    part = subproblem(instance, some)
    if not whole.n_select or not part.feasible or part.n_free == whole.n_free:
        return
    relaxation = SemidefiniteRelaxation(
        part, params=SemidefiniteParams(steps_to_settle=steps_to_settle)
    )
    for _ in range(rounds):
        relaxation.round()
    costs = relaxation.reduced_costs(whole)
    assert np.isfinite(costs[~np.isin(whole.free, some)]).all()
    relaxation.extend(whole)
    best = brute_force(instance).objective
    for _ in range(2):
        assert relaxation.proof()[0].value >= best - 1e-9 * max(1.0, abs(best))
        relaxation.round()


def test_reduced_costs_tell_what_is_missing():
    """A feature that everybody wants has the largest one."""
    made = qpopt.generate(30, 6, 6, 2, seed=3)
    bias = np.where(np.arange(30) == 17, 100.0, made.b)
    instance = qpopt.Instance(made.A, made.R, bias, 6, 2)
    whole = subproblem(instance)
    relaxation = SemidefiniteRelaxation(subproblem(instance, np.delete(np.arange(30), [4, 17, 20])))
    for _ in range(3):
        relaxation.round()
    costs = relaxation.reduced_costs(whole)
    assert costs.argmax() == 17
    assert (costs > -np.inf).sum() == 3
