"""What every solver must do, on models small enough to work out by hand."""

from __future__ import annotations

import _thread
from dataclasses import replace
from threading import Timer

import numpy as np
import pytest
from scipy import sparse

from qpopt import Status, generate
from qpopt.control import Limits
from qpopt.errors import SolverFailure
from qpopt.models.compact import compile_compact
from qpopt.models.compiled import Block, CompiledModel, Kind, Products, QuadraticRow, Rows
from qpopt.models.warm_start import start_vector
from qpopt.problem.assignment import assign
from qpopt.problem.solution import Candidate
from qpopt.solvers import SolverRequest, find_solver
from qpopt.solvers.base import tell_nobody
from tests.installed import solvers


def solve(name, model, *, start=None, lazy=None, on_progress=tell_nobody, **limits):
    request = SolverRequest(Limits(**limits), start, lazy, on_progress)
    return find_solver(name).solve(model, request)


def knapsack(constant=0.0):
    """Maximise 5a + 4b + 3c with 2a + 3b + c ≤ 5 and 4a + b + 2c ≤ 11: 9 for a and b, 2 + 3 = 5."""
    return CompiledModel(
        c=np.array([5.0, 4.0, 3.0]),
        constant=constant,
        rows=rows([[2, 3, 1], [4, 1, 2]], [-np.inf, -np.inf], [5, 11]),
        lower=np.zeros(3),
        upper=np.ones(3),
        kinds=np.full(3, Kind.INTEGER, np.int8),
        blocks={"x": Block(0, (3,))},
    )


def rows(matrix, lower, upper):
    return Rows(
        sparse.csr_array(np.array(matrix, dtype=float)),
        np.array(lower, dtype=float),
        np.array(upper, dtype=float),
    )


@pytest.mark.parametrize("name", solvers())
def test_the_optimum_and_its_bound_include_the_constant(name):
    result = solve(name, knapsack(constant=100.0), gap=0.0)
    assert result.status is Status.OPTIMAL
    assert result.x == pytest.approx([1, 1, 0])
    assert result.objective == pytest.approx(109)
    assert 109 <= result.bound <= 109 + 1e-3


@pytest.mark.parametrize("name", solvers())
def test_rows_may_be_equations_or_bounded_below(name):
    """Exactly two of three, at least one of b and c, never a with b: a and c."""
    more = rows([[1, 1, 1], [0, 1, 1], [1, 1, 0]], [2, 1, -np.inf], [2, np.inf, 1])
    result = solve(name, knapsack().with_rows(more), gap=0.0)
    assert result.x == pytest.approx([1, 0, 1])


@pytest.mark.parametrize("name", solvers())
def test_an_infeasible_model_is_called_so(name):
    model = knapsack().with_rows(rows([[1, 1, 1]], [4], [np.inf]))
    result = solve(name, model)
    assert result.status is Status.INFEASIBLE
    assert result.x is None


@pytest.mark.parametrize("name", solvers())
def test_progress_tells_of_solutions_and_valid_bounds(name):
    told = []
    solve(name, medium(), gap=0.0, on_progress=lambda x, bound: told.append((x, bound)), threads=1)
    best = solve(name, medium(), gap=0.0).objective
    found = [x for x, _ in told if x is not None]
    assert found
    assert max(medium().value(x) for x in found) == pytest.approx(best)
    bounds = [bound for _, bound in told if bound is not None]
    assert bounds
    assert min(bounds) >= best


@pytest.mark.parametrize("name", solvers())
def test_an_error_in_a_callback_ends_the_solve_and_comes_out(name):
    def fail(x, bound):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(SolverFailure, match="in the callback"):
        solve(name, medium(), on_progress=fail)


@pytest.mark.parametrize("name", solvers())
def test_a_start_is_not_lost_when_time_is_short(name):
    model, instance = hard()
    selection = np.arange(instance.n_select)
    assignment = assign(instance.A, selection, instance.n_per_class)
    start = start_vector(instance, model, Candidate(selection, assignment))
    result = solve(name, model, start=start, time_limit=2.0, threads=1)
    assert result.objective >= model.value(start) - 1e-6


@pytest.mark.parametrize("name", solvers())
def test_hardly_any_time_is_no_error(name):
    result = solve(name, hard()[0], time_limit=0.01, threads=1)
    assert result.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert (result.x is None) == (result.status is Status.NO_SOLUTION)


@pytest.mark.parametrize("name", solvers())
def test_ctrl_c_returns_what_is_known(name):
    waiting = ["the solver is running"]

    def interrupt(x, bound):
        if waiting:
            waiting.clear()
            Timer(0.3, _thread.interrupt_main).start()

    result = solve(name, endless(), gap=0.0, time_limit=60.0, on_progress=interrupt)
    assert not waiting
    assert result.status is Status.INTERRUPTED
    assert result.bound is None or result.bound >= 0


@pytest.mark.parametrize("name", solvers(lazy_callback=True))
def test_lazy_constraints_are_obeyed(name):
    """Once a and b are seen together they are forbidden; then a and c, worth 8, are best."""
    seen = []

    def lazy(x):
        seen.append(x)
        return rows([[1, 1, 0]], [-np.inf], [1]) if x[0] + x[1] > 1.5 else None

    result = solve(name, knapsack(), gap=0.0, lazy=lazy)
    assert seen
    assert result.x == pytest.approx([1, 0, 1])
    assert result.objective == pytest.approx(8)
    assert 8 <= result.bound < 8.01


@pytest.mark.parametrize("name", solvers(quadratic_objective=True))
def test_a_quadratic_objective(name):
    """Charging 4 for a with b and ½ for a with c leaves a and c: 5 + 3 − ½ = 7½."""
    charges = Products(np.array([0, 0]), np.array([1, 2]), np.array([-4.0, -0.5]))
    model = replace(knapsack(), products=charges)
    result = solve(name, model, gap=0.0, start=np.array([0.0, 1.0, 1.0]))
    assert result.x == pytest.approx([1, 0, 1])
    assert 7.5 <= result.bound < 7.51


@pytest.mark.parametrize("name", solvers(quadratic_constraints=True))
def test_quadratic_constraints(name):
    """A product a·b of at most 0 forbids both; b + 2ac ≥ 1.5 then demands a and c."""
    none, two = np.zeros(0, np.int64), np.array([2.0])
    apart = QuadraticRow(
        none, np.zeros(0), Products(np.array([0]), np.array([1]), np.ones(1)), -np.inf, 0.0
    )
    demand = QuadraticRow(
        np.array([1]), np.ones(1), Products(np.array([0]), np.array([2]), two), 1.5, np.inf
    )
    model = replace(knapsack(), quadratic_rows=(apart, demand))
    result = solve(name, model, gap=0.0)
    assert result.x == pytest.approx([1, 0, 1])


def medium():
    return compile_compact(generate(10, 4, 5, 2, seed=3), quadratic=False)


def endless():
    """Return a model that no solver finishes within a test.

    Fifty items are to be split so that each of six random weights comes out at half its total;
    what is off target counts against the objective. Deciding whether nothing need be off takes
    all solvers very long.
    """
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 100, (6, 50)).astype(float)
    half = np.floor(weights.sum(axis=1) / 2)
    matrix = sparse.csr_array(np.hstack([weights, np.eye(6), -np.eye(6)]))
    return CompiledModel(
        c=np.concatenate([np.zeros(50), -np.ones(12)]),
        constant=float(half.sum()),
        rows=Rows(matrix, half, half),
        lower=np.zeros(62),
        upper=np.concatenate([np.ones(50), np.full(12, 10_000.0)]),
        kinds=np.full(62, Kind.INTEGER, dtype=np.int8),
        blocks={},
    )


def hard():
    """Return a model within the limits of every licence that takes longer than a moment."""
    instance = generate(38, 20, 12, 4, structure="uniform", redundancy=20.0, epsilon=None, seed=1)
    return compile_compact(instance, quadratic=False), instance
