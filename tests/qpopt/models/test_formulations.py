"""All formulations give every solution its Z, and know what is feasible."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt.models.compact import compact_size, compile_compact
from qpopt.models.compiled import Block, Size
from qpopt.models.duplicate_cuts import duplicate_cuts, equal_classes
from qpopt.models.paper import Tightening, compile_paper, paper_size
from qpopt.models.qcqp import compile_qcqp, qcqp_size
from qpopt.models.warm_start import start_vector
from qpopt.problem.solution import Candidate
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, value

FORMULATIONS = {
    "qcqp": compile_qcqp,
    "compact": lambda i: compile_compact(i, quadratic=False),
    "compact, quadratic": lambda i: compile_compact(i, quadratic=True),
    "compact, distinct": lambda i: compile_compact(i, quadratic=False, distinct=True),
    "paper": lambda i: compile_paper(i, Tightening(), quadratic=False),
    "paper, quadratic": lambda i: compile_paper(i, Tightening(), quadratic=True),
}


def feasible(model, x):
    """Check a point against every part of a model, with nothing but its definition."""
    rows = all(
        low - 1e-9 <= activity <= high + 1e-9
        for low, activity, high in zip(
            model.rows.lower, model.rows.matrix @ x, model.rows.upper, strict=True
        )
    )
    quadratic = all(
        row.lower - 1e-9
        <= row.coefficients @ x[row.variables] + row.products.at(x)
        <= row.upper + 1e-9
        for row in model.quadratic_rows
    )
    return rows and quadratic and (model.lower <= x).all() and (x <= model.upper).all()


def size(model):
    """Count what a model has."""
    rows = len(model.rows.lower)
    return Size(len(model.c), rows, model.products is not None, bool(model.quadratic_rows))


def vector(instance, model, selection, class_sets):
    selected = np.array(selection)
    assignment = np.array([np.isin(selected, members) for members in class_sets])
    everything = tuple(range(instance.n_features))
    pairs = tuple(combinations(range(instance.n_classes), 2))
    tightening = Tightening(everything, (), pairs if "p" in model.blocks else ())
    if "p" in model.blocks and model.blocks["p"].stop == model.blocks["p"].start:
        tightening = Tightening()
    return start_vector(instance, model, Candidate(selected, assignment), tightening)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@settings(max_examples=15)
@given(instance=awkward_instances(6, 4), which=st.integers(0, 10**6))
def test_a_solution_is_feasible_and_has_its_value(formulation, instance, which):
    model = FORMULATIONS[formulation](instance)
    selections = list(all_selections(instance))
    selection = selections[which % len(selections)]
    class_sets = best_class_sets(instance, selection)
    x = vector(instance, model, selection, class_sets)
    assert feasible(model, x)
    assert model.value(x) == pytest.approx(value(instance, selection, class_sets))


@pytest.mark.parametrize("formulation", ["qcqp", "compact, distinct"])
@settings(max_examples=15)
@given(instance=awkward_instances(6, 4))
def test_complete_formulations_refuse_equal_classes(formulation, instance):
    selection = next(all_selections(instance))
    same = [selection[: instance.n_per_class]] * instance.n_classes
    model = FORMULATIONS[formulation](instance)
    x = vector(instance, model, selection, same)
    assert feasible(model, x) == (instance.n_classes == 1)


@settings(max_examples=15)
@given(instance=awkward_instances(7, 4))
def test_sizes_are_known_before_building(instance):
    built, known = size(compile_qcqp(instance)), qcqp_size(instance)
    assert (built.variables, built.rows) == (known.variables, known.rows)
    assert built.quadratic_rows
    assert known.quadratic_rows
    for quadratic in (False, True):
        built = compile_compact(instance, quadratic=quadratic)
        assert size(built) == compact_size(instance, quadratic=quadratic)
        tightening = Tightening((0, 1), (0,), ((0, 1),) if instance.n_classes > 1 else ())
        built = compile_paper(instance, tightening, quadratic=quadratic)
        assert size(built) == paper_size(instance, tightening, quadratic=quadratic)


def test_include_and_exclude_are_bounds(toy):
    fixed = type(toy)(toy.A, toy.R, toy.b, 3, 2, include=[1], exclude=[3])
    for build in FORMULATIONS.values():
        model = build(fixed)
        assert model.block("s", model.lower).tolist() == [0, 1, 0, 0]
        assert model.block("s", model.upper).tolist() == [1, 1, 1, 0]


def test_the_tightened_model_asks_only_what_the_rounds_taught(toy):
    """Class 0 must find two features among 0, 1, 2, and the classes must differ among them."""
    model = compile_paper(toy, Tightening((0, 1, 2), (0,), ((0, 1),)), quadratic=False)

    def fits(*class_sets):
        x = np.zeros(model.n_variables)
        model.block("s", x)[[0, 1, 2]] = 1
        for c, members in enumerate(class_sets):
            model.block("w", x)[c, list(members)] = 1
        model.block("y", x)[:] = 1
        both = model.block("w", x)[0] * model.block("w", x)[1]
        model.block("p", x)[:] = both[:3]
        return feasible(model, x)

    assert fits((0, 1), (1, 2))
    assert fits((0, 1, 2), (1,))
    assert not fits((0,), (0, 1, 2))
    assert not fits((0, 1), (0, 1))


def test_cuts_forbid_a_shared_set_and_nothing_else():
    """Three classes of two out of four features; all assignments are tried."""
    sets = list(combinations(range(4), 2))
    shared = np.zeros((3, 4), dtype=bool)
    shared[:, [0, 1]] = True
    for ahead in (False, True):
        cuts = duplicate_cuts(shared, 2, Block(0, (3, 4)), 12, ahead=ahead)
        for chosen in np.ndindex(6, 6, 6):
            w = np.zeros((3, 4))
            for c, which in enumerate(chosen):
                w[c, list(sets[which])] = 1
            twice = sum(sets[which] == (0, 1) for which in chosen) > 1
            assert (cuts.matrix @ w.ravel() > cuts.upper).any() == twice


def test_cuts_ahead_also_concern_the_other_classes():
    assignment = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=bool)
    now = duplicate_cuts(assignment, 2, Block(0, (3, 3)), 9)
    ahead = duplicate_cuts(assignment, 2, Block(0, (3, 3)), 9, ahead=True)
    assert (now.n_rows, ahead.n_rows) == (1, 3)


def test_there_is_no_cut_without_equal_classes():
    distinct = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    assert duplicate_cuts(distinct, 2, Block(0, (2, 3)), 6) is None
    assert equal_classes(distinct) == []
