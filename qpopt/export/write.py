"""export: one formulation of an instance as an MPS, LP or QPLIB file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb
from pathlib import Path

from qpopt.errors import InvalidArgument
from qpopt.export import lp, mps, qplib
from qpopt.export.names import ModelNames
from qpopt.io.atomic import AnyPath, replacing
from qpopt.models.compact import compile_compact
from qpopt.models.compiled import CompiledModel
from qpopt.models.paper import Tightening, compile_paper
from qpopt.models.qcqp import compile_qcqp
from qpopt.problem.instance import Instance

FORMATS: dict[str, Callable[[CompiledModel, ModelNames], Iterator[str]]] = {
    ".mps": mps.lines,
    ".lp": lp.lines,
    ".qplib": qplib.lines,
}
"""The endings that a file name may have, and what writes such a file."""

FORMULATIONS = ("compact", "qcqp", "paper")

MOST_OVERLAPS = 5_000_000
"""The largest number of variables that stating uniqueness for every pair of classes may take."""


def export(
    instance: Instance,
    path: AnyPath,
    *,
    formulation: str = "compact",
    uniqueness: bool = True,
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
        If the format or formulation is unknown, or uniqueness would take too many variables.
    InvalidFile
        If the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise InvalidArgument(f"{path} must end with one of {', '.join(FORMATS)}.")
    if formulation not in FORMULATIONS:
        raise InvalidArgument(
            f"formulation must be one of {', '.join(FORMULATIONS)}, not {formulation!r}."
        )
    distinct = formulation == "compact" and uniqueness
    overlaps = comb(instance.n_classes, 2) * instance.n_features
    if distinct and overlaps > MOST_OVERLAPS:
        raise InvalidArgument(
            f"Stating uniqueness would take {overlaps:,} variables, more than {MOST_OVERLAPS:,}; "
            "export with uniqueness=False and add it as cuts, or export qcqp."
        )
    model = _compile(instance, formulation, quadratic=ending == ".qplib", distinct=distinct)
    names = ModelNames(model, _pairs(instance), instance.name)
    with replacing(path) as stream:
        for line in FORMATS[ending](model, names):
            stream.write(f"{line}\n".encode())


def _compile(
    instance: Instance, formulation: str, *, quadratic: bool, distinct: bool
) -> CompiledModel:
    # Pyomo takes a while to load, so it is not loaded before there is something to build.
    if formulation == "qcqp":
        return compile_qcqp(instance)
    if formulation == "compact":
        return compile_compact(instance, quadratic=quadratic, distinct=distinct)
    return compile_paper(instance, Tightening(), quadratic=quadratic)


def _pairs(instance: Instance) -> dict[str, list[str]]:
    """Return names for the variables that belong to pairs rather than to a grid."""
    pairs, _ = instance.redundant_pairs()
    classes = combinations(range(instance.n_classes), 2)
    return {
        "y": [f"y_{d}_{e}" for d, e in pairs.tolist()],
        "p": [f"p_{c}_{other}_{d}" for c, other in classes for d in range(instance.n_features)],
    }
