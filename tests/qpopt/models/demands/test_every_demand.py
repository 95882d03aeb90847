"""Every formulation and solver that takes demands agrees with trying everything."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qpopt import (
    InfeasibleInstance,
    Instance,
    InvalidArgument,
    QpoptError,
    generate,
    solve,
    verify,
)
from qpopt.methods.registry import find_method
from tests.demanded import TOGETHER, best_demanded, demanded, statement
from tests.installed import solvers


def quick(examples):
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(max_examples=examples, deadline=None, suppress_health_check=checks)


def agree(arguments, method, solver):
    """Compare a solve with trying everything; what is refused must be refused by name."""
    data, named = arguments
    try:
        instance = Instance(*data, **named)
    except InfeasibleInstance:
        assert best_demanded(statement(*data, **named)) is None
        return
    if not find_method(method).demands.issuperset(instance.demands.stated):
        with pytest.raises(QpoptError, match="does not take the demand"):
            solve(instance, method=method, solver=solver)
        return
    best = best_demanded(instance)
    found = solve(instance, method=method, solver=solver, time_limit=60, threads=1)
    outcome = verify(instance, found)
    assert outcome, outcome
    if best is None:
        assert found.status == "infeasible"
        return
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best.objective, rel=1e-4, abs=1e-4)
    assert found.bound >= best.objective - 1e-6


@pytest.mark.parametrize("kinds", TOGETHER, ids="-".join)
@quick(4)
@given(drawn=st.data())
def test_compact_with_every_two_demands(kinds, drawn):
    agree(drawn.draw(demanded(list(kinds))), "compact", "highs")


@pytest.mark.parametrize("solver", solvers())
@quick(10)
@given(arguments=demanded())
def test_compact_with_every_solver(solver, arguments):
    agree(arguments, "compact", solver)


QCQP = ["forbidden", "required", "classes_per_feature", "pairs", "budget", "average"]


@pytest.mark.parametrize("solver", solvers(quadratic_constraints=True))
@pytest.mark.parametrize("kind", QCQP)
@quick(4)
@given(drawn=st.data())
def test_qcqp_with_its_demands(solver, kind, drawn):
    other = drawn.draw(st.sampled_from(QCQP))
    apart = {"pairs", "budget", "average"}
    kinds = [kind] if {kind, other} <= apart else sorted({kind, other})
    agree(drawn.draw(demanded(kinds, max_features=6, max_classes=3)), "qcqp", solver)


@pytest.mark.parametrize("solver", solvers())
@quick(5)
@given(drawn=st.data())
def test_paper_with_its_demands(solver, drawn):
    """What it finds is feasible, and it finds something wherever there is anything."""
    kinds = drawn.draw(
        st.sampled_from([["pairs"], ["forbidden", "required"], ["forbidden", "pairs"]])
    )
    data, named = drawn.draw(demanded(kinds))
    try:
        instance = Instance(*data, **named)
    except InfeasibleInstance:
        return
    best = best_demanded(instance)
    found = solve(instance, method="paper", solver=solver, time_limit=60, threads=1)
    assert verify(instance, found)
    if best is None:
        assert found.status == "infeasible"
        return
    assert found.objective <= best.objective + 1e-6
    assert found.bound is None


REFUSED = {
    "qcqp": [{"negative": (1, 1.0)}, {"max_shared": 0}, {"pairs": 1}],
    "paper": [
        *({"negative": (1, 1.0)}, {"max_shared": 0}, {"pairs": 1}),
        *({"classes_per_feature": (1, 2)}, {"budget": [1, 2, 3]}),
    ],
}


@pytest.mark.parametrize("method", REFUSED)
def test_a_method_refuses_by_name_what_it_does_not_take(method):
    plain = generate(10, 3, 6, 2)
    for demands in REFUSED[method]:
        instance = plain.with_demands(**demands)
        (name,) = instance.demands.stated
        with pytest.raises(InvalidArgument, match=f"the demand {name}; take .*compact"):
            solve(instance, method=method, time_limit=0.001)
    with pytest.raises(InvalidArgument, match="formulation paper does not take the demand negat"):
        plain.with_demands(negative=1).export("never.mps", formulation="paper")


@pytest.mark.slow
@pytest.mark.parametrize("solver", solvers())
@quick(300)
@given(arguments=demanded(max_features=9, max_classes=5))
def test_larger_instances_with_every_solver(solver, arguments):
    agree(arguments, "compact", solver)
