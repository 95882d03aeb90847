"""Every exported file, read by a program that did not write it, has the right optimum."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from qpopt import Instance, InvalidArgument, InvalidFile, generate
from qpopt.export.write import FORMATS, FORMULATIONS
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, brute_force, value
from tests.qpopt.export.readers import (
    model_read_by_highs,
    needs_scip,
    read_by_highs,
    read_by_pyqplib,
    read_by_scip,
)


def relaxed_optimum(instance):
    """The optimum of the first round of the published scheme, by trying all selections."""
    total = instance.n_per_class * instance.n_classes

    def best(selection):
        # Every class takes its best feature, and the rest goes to where it helps most.
        gains = np.sort(instance.A[:, list(selection)], axis=1)
        first, more = gains[:, -1], np.sort(gains[:, :-1].ravel())[::-1]
        free = total - instance.n_classes
        return value(instance, selection, []) + first.sum() + more[:free].sum()

    return max(best(selection) for selection in all_selections(instance))


def optimum(instance, formulation):
    if formulation == "paper":
        return relaxed_optimum(instance)
    return brute_force(instance).objective


READERS = [
    *product(("compact", "paper"), (".mps", ".lp"), (read_by_highs,)),
    *(
        pytest.param(*case, marks=needs_scip)
        for case in (
            *product(FORMULATIONS, (".mps", ".lp"), (read_by_scip,)),
            *product(FORMULATIONS, (".qplib",), (read_by_pyqplib,)),
        )
    ),
]


@pytest.mark.parametrize(("formulation", "ending", "read"), READERS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(instance=awkward_instances(6, 4))
def test_a_file_read_back_has_the_same_optimum(tmp_path, formulation, ending, read, instance):
    path = tmp_path / f"model{ending}"
    instance.export(path, formulation=formulation)
    assert read(path) == pytest.approx(optimum(instance, formulation), abs=1e-5)


def test_without_uniqueness_it_is_left_out(tmp_path):
    equal = Instance([[9.0, 8.0, 1.0], [9.0, 8.0, 2.0]], np.zeros((3, 3)), np.zeros(3), 3, 2)
    equal.export(tmp_path / "model.lp", uniqueness=False)
    assert read_by_highs(tmp_path / "model.lp") == pytest.approx(34.0)
    equal.export(tmp_path / "model.lp")
    assert read_by_highs(tmp_path / "model.lp") == pytest.approx(28.0)


@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_variables_and_rows_are_named_after_features_and_classes(tmp_path, toy, ending):
    path = tmp_path / f"model{ending}"
    toy.export(path)
    lp = model_read_by_highs(path).getLp()
    assert {"s_3", "w_1_3", "y_0_1", "p_0_1_3"} <= set(lp.col_names_)
    assert {"c_e_selected_", "c_u_linked_1_3_", "c_e_per_class_1_"} <= set(lp.row_names_)
    assert "toy" in path.read_text()


@pytest.mark.parametrize("ending", FORMATS)
def test_an_odd_name_does_no_harm(tmp_path, ending):
    odd = Instance([[1.0, 2.0]], np.zeros((2, 2)), [0, 0], 1, 1, name="a b\n*c # 1")
    odd.export(tmp_path / f"model{ending}", formulation="qcqp")
    assert "a_b__c___1" in "".join((tmp_path / f"model{ending}").read_text().splitlines()[:4])


def test_wrong_arguments_are_explained(tmp_path, toy):
    with pytest.raises(InvalidArgument, match=r"must end with one of \.mps, \.lp, \.qplib"):
        toy.export(tmp_path / "model.txt")
    with pytest.raises(InvalidArgument, match="formulation must be one of compact, qcqp, paper"):
        toy.export(tmp_path / "model.lp", formulation="projected")
    with pytest.raises(InvalidFile, match="Cannot write"):
        toy.export(tmp_path / "missing" / "model.lp")


def test_too_many_overlaps_are_refused_before_building(tmp_path):
    large = generate(300, 200, 20, 3, epsilon=None)
    with pytest.raises(InvalidArgument, match="5,970,000 variables"):
        large.export(tmp_path / "model.mps")
    assert not list(tmp_path.iterdir())
