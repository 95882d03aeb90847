from __future__ import annotations

import numpy as np

from benchmarks.studies.build import direct_arrays
from qpopt import Instance, generate
from qpopt.models.compact import compile_compact


def test_both_routes_give_the_same_model():
    made = generate(15, 6, 5, 2, epsilon=0.2)
    instance = Instance(made.A, made.R, made.b, 5, 2, include=[3], exclude=[7])
    one, other = compile_compact(instance, quadratic=False), direct_arrays(instance)
    assert abs(one.rows.matrix - other.rows.matrix).nnz == 0
    for name in ("c", "lower", "upper", "kinds"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.rows.lower, other.rows.lower)
    assert np.array_equal(one.rows.upper, other.rows.upper)
    assert one.blocks == other.blocks
