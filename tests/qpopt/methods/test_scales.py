"""The unit of Z changes nothing: not the selection, not the status, not what is proven."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from qpopt import Instance, bound, check_certificate, generate, solve, verify
from qpopt.proofs.bound import KINDS
from tests.brute_force import brute_force
from tests.installed import INFOS

PLAIN = {"search_steps": 0}
"""So that the bound is the solver's own."""

SOLVERS = ("highs", "cpsat", "scip", "gurobi")
RUNS = {
    "projected": ("projected", "auto", {}),
    "bounds and branching": ("projected", "auto", {"enumerate": False, "hand_over": False}),
    "search": ("search", "auto", {"step_limit": 300}),
    "paper": ("paper", "highs", {}),
    **{f"compact {solver}": ("compact", solver, PLAIN) for solver in SOLVERS},
    **{f"qcqp {solver}": ("qcqp", solver, PLAIN) for solver in ("scip", "gurobi")},
}
SHAPES = ((8, 3, 4, 2), (9, 5, 4, 2), (7, 6, 4, 2))
TINY_AND_HUGE = (5e-324, 1e-310, 1e-300, 1e-30, 1e-9, 1e-7, 1e-6, 1e9, 1e50, 1e98)


@cache
def instance(seed):
    """A small instance with redundancy, bias of both signs and many ties."""
    n_features, n_classes, n_select, n_per_class = SHAPES[seed]
    rng = np.random.default_rng(seed)
    A = rng.uniform(0.0, 1.0, (n_classes, n_features))
    R = np.triu(rng.uniform(0.0, 0.5, (n_features, n_features)), 1)
    R *= rng.random(R.shape) < 0.5
    return Instance(A, R + R.T, rng.uniform(-0.3, 0.3, n_features), n_select, n_per_class)


def times(one, factor):
    return Instance(one.A * factor, one.R * factor, one.b * factor, one.n_select, one.n_per_class)


def shifted(one, delta):
    """Add a constant to all of A and take it back through b."""
    back = delta * one.n_per_class * one.n_classes / one.n_select
    return Instance(one.A + delta, one.R, one.b - back, one.n_select, one.n_per_class)


def solved(one, run, **more):
    method, solver, options = RUNS[run]
    if solver != "auto" and not INFOS[solver].availability.usable:
        pytest.skip(f"{solver} is not installed")
    return solve(one, method=method, solver=solver, options=options, threads=1, **more)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("seed", range(len(SHAPES)))
def test_a_power_of_two_changes_nothing(run, seed):
    plain = solved(instance(seed), run)
    for exponent in (-30, -23, -10, -3, 1, 8, 20, 30):
        factor = 2.0**exponent
        solution = solved(times(instance(seed), factor), run)
        assert solution.selection.tolist() == plain.selection.tolist()
        assert solution.assignment.tolist() == plain.assignment.tolist()
        assert solution.status is plain.status
        assert solution.objective == factor * plain.objective
        expected = None if plain.bound is None else factor * plain.bound
        assert solution.bound == expected


@pytest.mark.parametrize("kind", KINDS)
def test_nor_does_it_change_a_bound(kind):
    one = generate(40, 8, 8, 3, seed=1)
    plain = bound(one, kind=kind, time_limit=None).value
    for exponent in (-30, 30):
        found = bound(times(one, 2.0**exponent), kind=kind, time_limit=None)
        assert found.value == 2.0**exponent * plain
        if found.certificate is not None:
            proven = check_certificate(times(one, 2.0**exponent), found.certificate)
            assert proven == pytest.approx(found.value, rel=1e-6)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("factor", TINY_AND_HUGE)
def test_no_size_breaks_a_proof(run, factor):
    one = times(instance(0), factor)
    best = brute_force(one).objective
    solution = solved(one, run)
    assert verify(one, solution), verify(one, solution)
    if run in ("paper", "search"):
        assert solution.objective <= best
    else:
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(best, rel=1e-9, abs=0.0)
    assert solution.bound is None or solution.bound >= best


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("delta", [1e3, 1e6, 1e9, 1e12])
def test_what_is_added_and_taken_back_changes_nothing_but_rounding(run, delta):
    for seed in range(len(SHAPES)):
        one = shifted(instance(seed), delta)
        best = brute_force(one).objective
        plain, solution = solved(instance(seed), run), solved(one, run)
        rounding = 1e-15 * delta * one.n_select * one.n_classes
        assert verify(one, solution), verify(one, solution)
        if run == "paper":
            continue
        assert solution.status is plain.status
        assert solution.objective == pytest.approx(best, rel=1e-12, abs=0.0)
        assert solution.objective == pytest.approx(plain.objective, rel=1e-5, abs=rounding)
        if plain.bound is None:
            assert solution.bound is None
        else:
            # A solver may stop anywhere within the gap.
            assert best <= solution.bound <= best + 1.01e-4 * abs(best) + rounding


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [1e6, 1e12])
def test_bounds_hold_where_terms_cancel_out(kind, delta):
    one = shifted(instance(1), delta)
    best = brute_force(one).objective
    found = bound(one, kind=kind, time_limit=None)
    assert best <= found.value <= best + 1.5
    if found.certificate is not None:
        assert best <= check_certificate(one, found.certificate) <= found.value + 1e-3


def test_a_certificate_in_another_unit_is_saved_and_read(tmp_path):
    one = times(shifted(instance(1), 1e9), 1e-40)
    path = tmp_path / "certificate.npz"
    found = bound(one, kind="semidefinite", time_limit=None)
    found.certificate.save(path)
    again = type(found.certificate).load(path)
    assert again.bound == found.value
    assert again.class_offsets.tolist() == found.certificate.class_offsets.tolist()
    assert brute_force(one).objective <= check_certificate(one, again)


def test_a_checkpoint_in_another_unit_is_gone_on_from(tmp_path):
    one = times(shifted(generate(14, 4, 5, 2, seed=2), 1e7), 1e-20)
    options = {"checkpoint": tmp_path / "open.npz", "enumerate": False, "hand_over": False}
    first = solve(one, time_limit=0.0, options=options)
    second = solve(one, options=options)
    assert second.status == "optimal"
    assert second.objective >= first.objective
    assert second.objective == pytest.approx(brute_force(one).objective, rel=1e-9, abs=0.0)


def test_a_target_is_in_the_unit_of_the_instance():
    one = times(generate(30, 6, 6, 2, seed=0), 1e-12)
    solution = solve(one, method="search", options={"target": -1.0, "step_limit": 10**9})
    assert solution.seconds < 5


@pytest.mark.parametrize("run", ["compact highs", "compact scip", "compact gurobi", "qcqp gurobi"])
def test_where_only_redundancy_is_left_a_solver_still_proves_the_optimum(run):
    """All similarity is that of an excluded feature; the best pairs have no redundancy: Z = 0."""
    R = np.triu(np.random.default_rng(0).uniform(1.0, 30.0, (7, 7)), 1)
    R[0, 1] = R[3, 4] = 0.0
    A = np.where(np.arange(7) == 2, 2.0, 0.0)[None]
    one = Instance(A * 1e30, (R + R.T) * 1e30, np.zeros(7), 2, 1, exclude=[2])
    solution = solved(one, run)
    assert (solution.objective, solution.status) == (0.0, "optimal")
    assert str(verify(one, solution)).startswith("verified")
