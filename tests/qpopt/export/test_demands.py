"""Exported files state demands: programs that read them find the true optimum."""

import pytest

from qpopt import Average, generate
from tests.demanded import best_demanded
from tests.qpopt.export.readers import (
    needs_scip,
    read_by_highs,
    read_by_pyqplib,
    read_by_scip,
)

DEMANDS = {
    "cells": {"forbidden": [(0, 1), (2, 4)], "required": [(1, 5)], "classes_per_feature": (1, 2)},
    "pairs": {"pairs": [(0, 2)], "max_shared": 0, "forbidden": [(1, 0)]},
    "n_pairs": {"pairs": 2},
    "budget": {"budget": [1, 2, 3]},
    "average": {"budget": Average(1, 3), "negative": (1, 2.0)},
}


def wished(name):
    return generate(7, 3, 5, 2, seed=3).with_demands(**DEMANDS[name])


@pytest.mark.parametrize("demands", DEMANDS)
@pytest.mark.parametrize("ending", [".mps", ".lp"])
def test_highs_reads_compact_with_demands(demands, ending, tmp_path):
    instance = wished(demands)
    instance.export(tmp_path / f"m{ending}")
    found = abs(read_by_highs(tmp_path / f"m{ending}"))
    assert found == pytest.approx(abs(best_demanded(instance).objective), rel=1e-4)


@needs_scip
@pytest.mark.parametrize("demands", ["cells", "pairs", "budget"])
def test_scip_and_pyqplib_read_products_with_demands(demands, tmp_path):
    instance = wished(demands)
    if demands == "pairs":
        instance = instance.with_demands(max_shared=None)
    best = best_demanded(instance).objective
    instance.export(tmp_path / "m.lp", formulation="qcqp")
    assert abs(read_by_scip(tmp_path / "m.lp")) == pytest.approx(abs(best), rel=1e-4)
    instance.export(tmp_path / "m.qplib")
    assert abs(read_by_pyqplib(tmp_path / "m.qplib")) == pytest.approx(abs(best), rel=1e-4)
