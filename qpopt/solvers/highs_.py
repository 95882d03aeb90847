"""HiGHS, the default solver: mixed-integer linear models."""

from __future__ import annotations

from functools import partial
from threading import Event
from typing import Any, ClassVar

import numpy as np

from qpopt.errors import SolverFailure
from qpopt.models.compiled import CompiledModel, Kind
from qpopt.problem.solution import Status
from qpopt.solvers.availability import load
from qpopt.solvers.base import Solver, SolverRequest, SolverResult, Supports, safe_bound
from qpopt.solvers.solver_thread import SolverOverrun, SolverThread

OVERRUN = 0.1
LEAST_OVERRUN = 10.0
"""How long HiGHS is waited for after its time limit, as a share of it and in seconds: with some
hundred thousand variables, parts of its setup take many minutes and listen to nothing."""

_left_behind: list[SolverThread] = []


class Highs(Solver):
    """HiGHS takes integer variables or products, not both, and has no lazy constraints."""

    name = "highs"
    supports = Supports(warm_start=True)
    install = "pip install highspy"
    package = module = "highspy"
    statuses: ClassVar = {
        "kOptimal": Status.OPTIMAL,
        "kInfeasible": Status.INFEASIBLE,
        "kUnboundedOrInfeasible": Status.INFEASIBLE,
    }

    def solve(self, model: CompiledModel, request: SolverRequest) -> SolverResult:
        """Maximise a model; see `Solver.solve`."""
        highspy = load("highspy")
        if any(run.busy for run in _left_behind):
            raise SolverFailure(
                "HiGHS is still busy with an earlier model that it could not stop in time. Use "
                "another solver, or start again in a new process."
            )
        # The threads are shared by all models of the process and keep the number they began with.
        highspy.Highs.resetGlobalScheduler(True)
        highs = highspy.Highs()
        options = {
            "output_flag": False,
            "mip_rel_gap": request.limits.gap,
            "mip_abs_gap": 0.0,
            "random_seed": request.limits.seed % 2**31,
            "threads": request.limits.threads or 0,
        }
        if request.limits.time_limit is not None:
            options["time_limit"] = request.limits.time_limit
        for option, value in options.items():
            highs.setOptionValue(option, value)
        _pass_model(highs, model)
        if request.start is not None:
            columns = np.arange(model.n_variables, dtype=np.int32)
            highs.setSolution(model.n_variables, columns, request.start)
        stopped = Event()
        run = SolverThread(stopped.set)

        def poll(event: Any) -> None:
            if stopped.is_set():
                event.interrupt()

        highs.cbMipInterrupt += poll
        highs.cbSimplexInterrupt += poll
        tell = run.guard(request.on_progress, None)
        bound_of = partial(safe_bound, size=request.size)
        highs.cbMipImprovingSolution += lambda event: tell(
            np.array(event.data_out.mip_solution), bound_of(event.data_out.mip_dual_bound)
        )
        highs.cbMipLogging += lambda event: tell(None, bound_of(event.data_out.mip_dual_bound))
        patience = None
        if request.limits.time_limit is not None:
            patience = request.limits.time_limit + max(
                LEAST_OVERRUN, OVERRUN * request.limits.time_limit
            )
        try:
            run.wait_for(highs.run, patience)
        except SolverOverrun:
            return SolverResult(Status.INTERRUPTED if run.interrupted else Status.NO_SOLUTION)
        finally:
            if run.busy:
                _left_behind.append(run)
        info = highs.getInfo()
        x = np.array(highs.getSolution().col_value) if info.primal_solution_status == 2 else None
        bound = bound_of(info.mip_dual_bound)
        ended = highs.getModelStatus().name
        return self.ending(ended, model, x, bound, interrupted=run.interrupted)


def _pass_model(highs: Any, model: CompiledModel) -> None:
    highspy = load("highspy")
    matrix = model.rows.matrix
    types = highspy.HighsVarType
    code = {
        Kind.CONTINUOUS: types.kContinuous,
        Kind.INTEGER: types.kInteger,
        Kind.IMPLIED: types.kImplicitInteger,
    }
    codes = np.array([int(code[Kind(kind)]) for kind in range(len(Kind))], dtype=np.int32)
    highs.passModel(
        model.n_variables,
        model.rows.n_rows,
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMaximize),
        model.constant,
        model.c,
        model.lower,
        model.upper,
        model.rows.lower,
        model.rows.upper,
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        codes[model.kinds],
    )
