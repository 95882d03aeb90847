"""Every exact method with every solver gives the optimum that brute force gives."""

from __future__ import annotations

import _thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import (
    Average,
    Instance,
    InvalidArgument,
    InvalidStart,
    SolverLimit,
    Status,
    UnsupportedModel,
    generate,
    solve,
    verify,
)
from tests.awkward import awkward_instances
from tests.brute_force import brute_force
from tests.installed import INFOS, solvers

ROUNDING = 1e-6
needs_gurobi = pytest.mark.skipif(
    not INFOS["gurobi"].availability.usable, reason="gurobi is not installed"
)


def check_exact(instance, gap, **arguments):
    """Solve and compare with brute force."""
    best = brute_force(instance).objective
    solution = solve(instance, gap=gap, threads=1, **arguments)
    slack = ROUNDING * max(1.0, abs(best))
    assert verify(instance, solution), verify(instance, solution)
    # A wide gap ends the solve without making its answer optimal.
    ended = (Status.OPTIMAL,) if gap <= 1e-4 else (Status.OPTIMAL, Status.FEASIBLE)
    assert solution.status in ended
    assert solution.objective <= best + slack
    assert solution.objective >= best - gap * abs(solution.objective) - 3 * slack
    assert solution.bound >= best - 1e-9 * max(1.0, abs(best))


GAPS = st.sampled_from([0.0, 1e-4, 0.05])
STEPS = st.sampled_from([0, 0, 50])


@pytest.mark.parametrize("solver", solvers())
@settings(max_examples=25)
@given(instance=awkward_instances(8, 6), gap=GAPS, steps=STEPS)
def test_compact_agrees_with_brute_force(solver, instance, gap, steps):
    options = {"search_steps": steps}
    check_exact(instance, gap, method="compact", solver=solver, options=options)


@pytest.mark.parametrize("solver", solvers(quadratic_constraints=True))
@settings(max_examples=25)
@given(instance=awkward_instances(7, 5), gap=GAPS, steps=STEPS)
def test_qcqp_agrees_with_brute_force(solver, instance, gap, steps):
    check_exact(instance, gap, method="qcqp", solver=solver, options={"search_steps": steps})


@pytest.mark.parametrize("solver", solvers(quadratic_objective=True))
@settings(max_examples=15)
@given(instance=awkward_instances(7, 5), callbacks=st.booleans())
def test_compact_agrees_in_either_form_and_with_either_loop(solver, instance, callbacks):
    for objective in ("linear", "quadratic"):
        options = {"objective": objective, "callbacks": callbacks, "search_steps": 0}
        check_exact(instance, 0.0, method="compact", solver=solver, options=options)


@pytest.mark.parametrize("solver", solvers())
def test_the_largest_brute_force_instance(solver):
    check_exact(generate(12, 6, 5, 2, seed=5), 0.0, solver=solver, options={"search_steps": 0})


@pytest.mark.parametrize("solver", solvers())
@settings(max_examples=12)
@given(instance=awkward_instances(7, 5))
def test_the_published_scheme_is_feasible_and_claims_no_bound(solver, instance):
    solution = solve(instance, method="paper", solver=solver, threads=1)
    assert verify(instance, solution)
    assert solution.status is Status.FEASIBLE
    assert solution.bound is None
    assert solution.details["finished"]
    assert solution.objective <= brute_force(instance).objective + ROUNDING * 100


@settings(max_examples=20)
@given(instance=awkward_instances(7, 5), which=st.integers(0, 1000))
def test_a_solve_is_never_worse_than_its_start(instance, which):
    rng = np.random.default_rng(which)
    free = [
        d for d in range(instance.n_features) if d not in (*instance.include, *instance.exclude)
    ]
    rest = rng.permutation(free)[: instance.n_select - len(instance.include)]
    start = np.sort([*instance.include, *rest]).astype(int)
    first = solve(
        instance, method="compact", start=start, time_limit=0.0, options={"search_steps": 0}
    )
    assert first.selection.tolist() == start.tolist()
    for method in ("compact", "paper"):
        again = solve(instance, start=first, method=method, gap=0.5)
        assert again.objective >= first.objective


@pytest.mark.parametrize("method", ["search", "paper"])
@settings(max_examples=10)
@given(instance=awkward_instances(), hinted=st.booleans())
def test_equal_instances_give_equal_answers(method, instance, hinted):
    """A hint steers and is compared; names and provenance do neither."""
    others = set(range(instance.n_features)) - {*instance.include, *instance.exclude}
    allowed = [*instance.include, *sorted(others)]
    content = (instance.A, instance.R, instance.b, instance.n_select, instance.n_per_class)
    fixed = {"include": instance.include, "exclude": instance.exclude}
    hint = allowed[: instance.n_select] if hinted else ()
    one = Instance(*content, **fixed, hint=hint)
    other = Instance(
        *content,
        **fixed,
        hint=hint,
        feature_names=[f"feature {d}" for d in range(instance.n_features)],
        provenance={"clique": allowed[-instance.n_select :]},
    )
    assert one == other
    found, again = (solve(i, method=method, threads=1, time_limit=None) for i in (one, other))
    assert found.class_sets() == again.class_sets()
    assert [p.objective for p in found.trace] == [p.objective for p in again.trace]


@pytest.mark.parametrize("solver", solvers())
def test_an_optimal_start_stays(toy, toy_best, solver):
    solution = solve(toy, start=toy_best, solver=solver, gap=0.0)
    assert solution.class_sets() == toy_best.class_sets()
    assert solution.objective == pytest.approx(12.9)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ([0, 1], "it has 2 features, n_select is 3"),
        ([0, 1, 9], "there are only 4"),
        ([0.5, 1, 2], "list of feature indices"),
        (([0, 1, 2], [[1, 1, 1], [1, 1, 0]]), "class 0 has 3 features instead of 2"),
        (([0, 1, 2], [[1, 1, 0], [1, 1, 0]]), "classes 0 and 1 have the same features"),
    ],
)
def test_an_infeasible_start_is_rejected_with_the_reason(toy, start, reason):
    with pytest.raises(InvalidStart, match=reason):
        solve(toy, start=start)


def test_a_start_must_respect_what_is_included_and_excluded(toy):
    fixed = Instance(toy.A, toy.R, toy.b, 3, 2, include=[0], exclude=[3])
    with pytest.raises(InvalidStart, match="feature 0 must be included"):
        solve(fixed, start=[1, 2, 3])
    with pytest.raises(InvalidStart, match="feature 3 is excluded"):
        solve(fixed, start=[0, 1, 3])


def test_a_start_without_solution_is_rejected(toy):
    nothing = solve(toy, method="compact", time_limit=0.0, options={"search_steps": 0})
    assert nothing.status is Status.NO_SOLUTION
    with pytest.raises(InvalidStart, match="holds no solution: its solve ended no_solution"):
        solve(toy, start=nothing)


def test_a_start_may_be_given_in_any_order(toy):
    start = ([3, 2, 1], [[1, 0, 1], [0, 1, 1]])
    solution = solve(
        toy, method="compact", start=start, time_limit=0.0, options={"search_steps": 0}
    )
    assert solution.class_sets() == [(1, 3), (1, 2)]


@pytest.mark.parametrize("solver", solvers())
def test_hardly_any_time_still_gives_a_feasible_solution(solver):
    instance = generate(30, 10, 8, 3)
    if solver == "gurobi":
        instance = generate(20, 8, 6, 2)
    solution = solve(instance, solver=solver, time_limit=0.01)
    assert verify(instance, solution)
    assert solution.status is Status.FEASIBLE


@pytest.mark.parametrize("time_limit", [0.005, 0.01, 0.015, 0.02, 0.05])
@pytest.mark.parametrize("solver", solvers())
def test_a_solver_that_ends_early_proves_nothing_false(solver, time_limit):
    """Some solvers call 0 their bound until they know one."""
    instance = generate(20, 8, 6, 2)
    solution = solve(instance, solver=solver, time_limit=time_limit)
    best = solve(instance, method="projected")
    assert best.status is Status.OPTIMAL
    assert solution.bound is None or solution.bound >= best.objective - 1e-9
    if solution.status is Status.OPTIMAL:
        assert solution.objective == pytest.approx(best.objective, rel=1e-4)


@pytest.mark.parametrize("solver", solvers())
def test_ctrl_c_returns_the_best_so_far(solver):
    instance = generate(38, 20, 12, 4, structure="uniform", redundancy=20.0, epsilon=None, seed=1)
    waiting = ["the solver is about to start"]

    def interrupt(event):
        if event.note.startswith("round") and waiting:
            waiting.clear()
            _thread.interrupt_main()

    options = {"objective": "linear"}
    solution = solve(instance, solver=solver, gap=0.0, options=options, progress=interrupt)
    assert solution.status is Status.INTERRUPTED
    assert solution.found
    assert verify(instance, solution)


def test_the_trace_never_gets_worse():
    told = []
    solution = solve(
        generate(12, 6, 5, 2, seed=5),
        solver="highs",
        options={"search_steps": 0},
        progress=lambda event: told.append((event.point, event.note)),
    )
    objectives = [p.objective for p in solution.trace if p.objective is not None]
    bounds = [p.bound for p in solution.trace if p.bound is not None]
    assert objectives == sorted(objectives)
    assert bounds == sorted(bounds, reverse=True)
    assert solution.trace[-1].objective == solution.objective
    assert set(solution.trace) <= {point for point, _ in told}
    assert any(note.startswith("round 1") for _, note in told)


def test_rounds_are_part_of_the_solution():
    """Two classes that want the same two features need a second round, or a cut on the way."""
    instance = Instance([[9, 8, 1], [9, 8, 2]], np.zeros((3, 3)), [0, 0, 0], 3, 2)
    options = {"callbacks": False, "search_steps": 0}
    solution = solve(instance, solver="highs", gap=0.0, options=options)
    rounds = solution.details["rounds"]
    assert [r["added"] for r in rounds] == [1, 0]
    assert all(r["seconds"] > 0 for r in rounds)
    assert solution.objective == 9 + 8 + 9 + 2


def test_a_solver_that_cannot_take_a_method_is_refused(toy):
    with pytest.raises(UnsupportedModel, match="use one of gurobi, scip"):
        solve(toy, method="qcqp", solver="highs")


@needs_gurobi
def test_a_small_licence_is_noticed_before_building():
    if INFOS["gurobi"].availability.licensed:
        pytest.skip("Gurobi has a full licence")
    with pytest.raises(SolverLimit, match="use cpsat or highs or scip"):
        solve(generate(64, 40, 10, 3), solver="gurobi")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "no method called 'magic'; known are auto, compact"),
        ({"time_limit": -1}, "time_limit must be a number of at least 0"),
        ({"gap": float("nan")}, "gap must be a number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
        (
            {"method": "compact", "options": {"magic": 1}},
            "no option 'magic' for this method; known are objective",
        ),
        ({"method": "compact", "options": {"objective": "cubic"}}, "objective must be one of"),
        ({"method": "compact", "options": {"search_steps": -1}}, "search_steps must be"),
        ({"method": "search", "solver": "highs"}, "hands no model to a solver"),
        ({"options": [1, 2]}, "options must be a ProjectedOptions or a mapping"),
        ({"method": "paper", "options": {"max_rounds": 0}}, "max_rounds must be"),
    ],
)
def test_wrong_arguments_are_explained(toy, arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        solve(toy, **arguments)


def test_a_path_is_no_instance():
    with pytest.raises(InvalidArgument, match=r"takes a qpopt\.Instance, not str"):
        solve("i.npz")


@pytest.mark.parametrize(
    "demands",
    [
        {"forbidden": [(0, 1), (1, 2)]},
        {"budget": [1, 2, 3]},
        {"budget": Average(1, 3)},
        {"negative": (1, 2.0)},
        {"pairs": [(0, 1)]},
        {"classes_per_feature": (1, 2)},
    ],
)
def test_a_selection_can_be_a_start_under_demands(demands):
    instance = generate(10, 3, 5, 2, seed=4).with_demands(**demands)
    first = solve(instance, method="search", options={"step_limit": 200})
    again = solve(instance, start=first.selection, method="search", options={"step_limit": 0})
    assert verify(instance, again)
    assert again.objective >= first.objective - 1e-9
