"""What is read as a whole is the same as what Pyomo compiles row by row."""

from __future__ import annotations

from itertools import combinations

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings

from qpopt.models.compact import build_compact, compile_compact
from qpopt.models.compiled import Block
from qpopt.models.compiler import compile_model
from qpopt.models.paper import Tightening, build_paper, compile_paper
from qpopt.models.qcqp import build_qcqp, compile_qcqp
from qpopt.models.templates import TemplateReader, is_template, templates
from tests.awkward import awkward_instances


def tightened(instance):
    pairs = tuple(combinations(range(instance.n_classes), 2))
    return Tightening(tuple(range(1, instance.n_features)), (0,), pairs)


FORMULATIONS = {
    "qcqp": build_qcqp,
    "compact": lambda i: build_compact(i, quadratic=False),
    "compact, quadratic": lambda i: build_compact(i, quadratic=True),
    "compact, distinct": lambda i: build_compact(i, quadratic=False, distinct=True),
    "paper": lambda i: build_paper(i, Tightening(), quadratic=False),
    "paper, tightened": lambda i: build_paper(i, tightened(i), quadratic=False),
    "paper, quadratic": lambda i: build_paper(i, tightened(i), quadratic=True),
}


def as_templates(build, instance):
    with templates():
        return build(instance)


def arrays(model):
    """Everything that a compiled model consists of, as lists."""
    rows = [[*sorted(zip(c, w, strict=True)), low, high] for c, w, low, high in model.rows.each()]
    quadratic = [
        [*(part.tolist() for part in (r.variables, r.coefficients, *r.products)), r.lower, r.upper]
        for r in model.quadratic_rows
    ]
    products = [p.tolist() for p in model.products or ()]
    bounds = [model.lower.tolist(), model.upper.tolist(), model.kinds.tolist()]
    return model.c.tolist(), model.constant, rows, quadratic, products, bounds, model.blocks


def a_row_less(model):
    model.linked[0, 1].deactivate()
    del model.linked[0, 2]


def a_row_of_its_own(model):
    model.linked[0, 0] = model.w[0, 0] + 2 * model.s[1] <= 2


def a_fixed_variable(model):
    model.s[1].fix(1)
    model.w[0, 0].fix(0)


def other_bounds(model):
    model.s[0].setub(0)
    model.w[0, 1].setlb(1)


def more_rows(model):
    model.together = pyo.Constraint(expr=model.s[0] == model.s[1])
    model.apart = pyo.Constraint(expr=(0, model.s[0] + model.s[2], 1))
    model.both = pyo.Constraint(expr=model.s[0] * model.s[1] + model.s[2] <= 1)


def a_part_less(model):
    model.selected.deactivate()


def another_objective(model):
    model.objective.deactivate()
    model.other = pyo.Objective(expr=3 * model.s[0] - model.w[0, 1] + 1, sense=pyo.maximize)


CHANGES = [
    a_row_less,
    a_row_of_its_own,
    a_fixed_variable,
    other_bounds,
    more_rows,
    a_part_less,
    another_objective,
]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@settings(max_examples=12)
@given(instance=awkward_instances(6, 4))
def test_the_arrays_are_those_of_single_rows(formulation, instance):
    build = FORMULATIONS[formulation]
    whole = compile_model(as_templates(build, instance), implied=("y", "p"))
    assert arrays(whole) == arrays(compile_model(build(instance), implied=("y", "p")))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("formulation", ["compact", "compact, quadratic", "paper, quadratic"])
def test_a_changed_model_stays_changed(toy, formulation, change):
    whole, single = as_templates(FORMULATIONS[formulation], toy), FORMULATIONS[formulation](toy)
    change(whole)
    change(single)
    before = arrays(compile_model(FORMULATIONS[formulation](toy)))
    assert arrays(compile_model(whole)) == arrays(compile_model(single)) != before
    # Compiling again gives the same: what was hidden meanwhile is as it was.
    assert arrays(compile_model(whole)) == arrays(compile_model(single))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_no_part_is_left_to_single_rows(toy, formulation):
    model = as_templates(FORMULATIONS[formulation], toy)
    blocks = dict.fromkeys(("s", "w", "y", "p"), Block(0, ()))
    reader = TemplateReader(blocks)
    parts = [part for part in model.component_objects(pyo.Constraint) if part]
    assert parts
    assert all(reader.constraint(part) is not None for part in parts)
    assert reader.objective(model.objective) is not None


def test_compile_uses_templates_and_build_does_not(toy, monkeypatch):
    read = []
    constraint = TemplateReader.constraint
    monkeypatch.setattr(
        TemplateReader, "constraint", lambda *a: read.append(constraint(*a)) or read[-1]
    )
    for compiled in (
        compile_compact(toy, quadratic=False),
        compile_paper(toy, Tightening(), quadratic=True),
        compile_qcqp(toy),
    ):
        assert compiled.n_variables
    assert read
    assert None not in read
    model = build_compact(toy, quadratic=False)
    assert str(model.linked[0, 1].expr) == "w[0,1]  <=  s[1]"
    assert not is_template(model.linked[0, 1])


def general():
    """A model of all that a template may hold, hand-made: keys from 3 on, sums, an index shift."""
    model = pyo.AbstractModel()
    model.places = pyo.Set(dimen=1)
    model.steps = pyo.Set(dimen=2)
    model.price = pyo.Param(model.places, default=2.0)
    model.scale = pyo.Param(mutable=True)
    model.x = pyo.Var(model.places, bounds=(0, 5))
    model.z = pyo.Var()
    model.move = pyo.Constraint(
        model.steps,
        rule=lambda m, a, b: m.scale * (m.x[a] - m.x[b]) + m.price[b] * m.z >= m.price[a] - a,
    )
    model.next = pyo.Constraint(model.steps, rule=lambda m, a, b: m.x[a] + m.x[a] == m.x[9 - a] + b)
    model.total = pyo.Constraint(
        rule=lambda m: (1, sum(m.price[p] * sum(m.x[q] for q in m.places) for p in m.places), 8)
    )
    model.worth = pyo.Objective(
        rule=lambda m: sum(m.x[a] * m.x[b] for a, b in m.steps) - 4 * m.z * m.scale + 7,
        sense=pyo.maximize,
    )
    data = {
        "places": {None: [3, 6, 5, 4]},
        "steps": {None: [(3, 4), (5, 6), (4, 3)]},
        "price": {4: 1.5, 6: -3.0},
        "scale": {None: 0.5},
    }
    return model.create_instance({None: data})


def test_templates_of_any_kind():
    with templates():
        model = general()
    compiled = compile_model(model)
    assert arrays(compiled) == arrays(compile_model(general()))
    assert compiled.c.tolist() == [0, 0, 0, 0, -2]
    assert [part.tolist() for part in compiled.products] == [[0, 1], [3, 2], [2, 1]]
    rows = compiled.rows.matrix.toarray().tolist()
    # The order of the places is 3, 6, 5, 4. move[3, 4]: (x3 − x4)/2 + 1.5 z ≥ 2 − 3.
    assert rows[0] == [0.5, 0, 0, -0.5, 1.5]
    assert compiled.rows.lower[0] == -1
    # next[3, 4]: 2·x3 = x6 + 4; next[5, 6]: 2·x5 = x4 + 6.
    assert rows[3:5] == [[2, -1, 0, 0, 0], [0, 0, 2, -1, 0]]
    assert compiled.rows.upper[3:5].tolist() == [4, 6]
    # The prices add up to 2.5.
    assert rows[-1] == [2.5, 2.5, 2.5, 2.5, 0]


def test_names_as_keys_are_left_to_pyomo():
    def build():
        model = pyo.AbstractModel()
        model.names = pyo.Set(dimen=1)
        model.x = pyo.Var(model.names)
        model.low = pyo.Constraint(model.names, rule=lambda m, name: m.x[name] >= 2)
        model.worth = pyo.Objective(rule=lambda m: sum(m.x[n] for n in m.names))
        return model.create_instance({None: {"names": {None: ["a", "b"]}}})

    with templates():
        model = build()
    assert TemplateReader({"x": Block(0, (2,))}).constraint(model.low) is None
    assert arrays(compile_model(model)) == arrays(compile_model(build()))


def test_models_are_plain_again_even_after_an_error():
    with pytest.raises(ZeroDivisionError), templates():
        raise ZeroDivisionError
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2))
    model.row = pyo.Constraint(range(2), rule=lambda m, i: m.x[i] <= 1)
    assert not is_template(model.row[0])
