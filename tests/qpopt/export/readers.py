"""Programs that read exported files and did not write them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from qpopt import Status
from qpopt.control import Limits
from qpopt.models.compiled import Block, CompiledModel, Kind, Products, QuadraticRow, Rows
from qpopt.solvers import SolverRequest, find_solver
from tests.installed import INFOS

needs_scip = pytest.mark.skipif(
    not INFOS["scip"].availability.usable, reason="scip is not installed"
)


def model_read_by_highs(path):
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    return highs


def read_by_highs(path):
    highs = model_read_by_highs(path)
    highs.run()
    return highs.getInfo().objective_function_value


def read_by_scip(path):
    import pyscipopt

    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(str(path))
    scip.optimize()
    return scip.getObjVal()


def read_by_pyqplib(path):
    """Read with pyqplib and solve with SCIP what it understood."""
    pyqplib = pytest.importorskip("pyqplib")
    problem = pyqplib.read_problem(str(path))
    n, zero = problem.num_vars, np.zeros(problem.num_vars)
    jacobian = sparse.csr_array(problem.cons_jac(zero))
    linear, curved = [], []
    for k in range(problem.num_cons):
        multipliers = np.zeros(problem.num_cons)
        multipliers[k] = 1.0
        hessian = sparse.csr_array(problem.constraints.hess(zero, multipliers))
        (curved if hessian.nnz else linear).append((k, hessian))
    kept = [k for k, _ in linear]
    objective = sparse.csr_array(problem.obj.hess(zero))
    whole = [str(kind) != "VarType.CONTINUOUS" for kind in problem.var_types]
    model = CompiledModel(
        c=np.asarray(problem.obj_grad(zero)),
        constant=float(problem.obj_val(zero)),
        rows=Rows(jacobian[kept], problem.cons_lb[kept], problem.cons_ub[kept]),
        lower=problem.var_lb,
        upper=problem.var_ub,
        kinds=np.where(whole, Kind.INTEGER, Kind.CONTINUOUS).astype(np.int8),
        blocks={"x": Block(0, (n,))},
        products=half(objective) if objective.nnz else None,
        quadratic_rows=tuple(
            QuadraticRow(
                jacobian[[k]].indices.astype(np.int64),
                jacobian[[k]].data,
                half(hessian),
                problem.cons_lb[k],
                problem.cons_ub[k],
            )
            for k, hessian in curved
        ),
    )
    result = find_solver("scip").solve(model, SolverRequest(Limits(gap=0.0)))
    assert result.status is Status.OPTIMAL
    return result.objective


def half(matrix):
    """Return ½xᵀMx as products."""
    entries = matrix.tocoo()
    return Products(entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data / 2)
