"""export: one formulation of an instance as an MPS, LP or QPLIB file."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from pathlib import Path

from pyomo.opt import ProblemFormat

from qpopt.errors import InvalidArgument
from qpopt.export import qplib
from qpopt.export.names import label, title
from qpopt.io.atomic import AnyPath, replacing
from qpopt.models.compact import COMPACT_TAKES, build_compact
from qpopt.models.compiler import compile_model
from qpopt.models.paper import PAPER_TAKES, Tightening, build_paper
from qpopt.models.qcqp import QCQP_TAKES, build_qcqp
from qpopt.problem import validation
from qpopt.problem.constraints import refuse
from qpopt.problem.instance import Instance

FORMATS = {".mps": ProblemFormat.mps, ".lp": ProblemFormat.cpxlp, ".qplib": None}
"""The endings that a file name may have, and what Pyomo calls the format if it writes it."""

TAKES: Mapping[str, frozenset[str]] = {
    "compact": COMPACT_TAKES,
    "qcqp": QCQP_TAKES,
    "paper": PAPER_TAKES,
}
"""The formulations, and the demands that each states."""

FORMULATIONS = tuple(TAKES)

MOST_OVERLAPS = 5_000_000
"""The largest number of variables that stating uniqueness for every pair of classes may take."""


def export(
    instance: Instance, path: AnyPath, *, formulation: str = "compact", uniqueness: bool = True
) -> None:
    """Write a formulation of an instance to a file, in the format that its name ends with.

    Parameters
    ----------
    instance
        The instance.
    path
        A name that ends with .mps, .lp or .qplib. Redundancy is linearised in MPS and LP files of
        `compact` and `paper`, and stays quadratic in QPLIB files.
    formulation
        `compact` or `qcqp`, whose optimum is that of the instance, or `paper`, the relaxed model
        of the first round of the published scheme.
    uniqueness
        Whether `compact` states that no two classes have the same features. That takes one
        variable for every feature and pair of classes.

    Raises
    ------
    InvalidArgument
        If the format or formulation is unknown, does not state a demand of the instance, or
        uniqueness would take too many variables.
    InvalidFile
        If the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise InvalidArgument(f"{path} must end with one of {', '.join(FORMATS)}.")
    validation.one_of("formulation", formulation, FORMULATIONS)
    refuse(instance.demands, f"The formulation {formulation}", TAKES[formulation], TAKES)
    distinct = formulation == "compact" and uniqueness
    overlaps = comb(instance.n_classes, 2) * instance.n_features
    if distinct and overlaps > MOST_OVERLAPS:
        raise InvalidArgument(
            f"Stating uniqueness would take {overlaps:,} variables, more than {MOST_OVERLAPS:,}; "
            "export with uniqueness=False and add it as cuts, or export qcqp."
        )
    quadratic = ending == ".qplib"
    if formulation == "qcqp":
        model = build_qcqp(instance)
    elif formulation == "compact":
        model = build_compact(instance, quadratic=quadratic, distinct=distinct)
    else:
        model = build_paper(instance, Tightening(), quadratic=quadratic)
    model.name = title(instance.name)
    with replacing(path) as stream:
        if FORMATS[ending] is not None:
            # By name, because the writer of MPS files takes no stream.
            model.write(str(stream.name), FORMATS[ending], io_options={"labeler": label})
            return
        for line in qplib.lines(compile_model(model), model.name):
            stream.write(f"{line}\n".encode())
