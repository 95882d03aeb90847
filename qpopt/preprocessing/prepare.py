"""prepare: from a raw correlation matrix to an Instance."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from qpopt.errors import InvalidInstance
from qpopt.io.json_values import freeze
from qpopt.preprocessing.bias import scale_bias
from qpopt.preprocessing.epsilon import clique_threshold
from qpopt.preprocessing.published_bias import PublishedBias
from qpopt.preprocessing.redundancy import redundancy as cosine_redundancy
from qpopt.preprocessing.sharing import sharing_advice
from qpopt.preprocessing.specificity import effective_classes, specificity_factors
from qpopt.problem import validation
from qpopt.problem.constraints import ARGUMENTS, DemandArguments
from qpopt.problem.instance import Instance

if TYPE_CHECKING:
    from typing_extensions import Unpack

SIMILARITY_TOTAL = 1000.0
"""Z of a solution in which every assigned entry of A is the largest one."""
MANY_CLASSES = 2
"""Classes a feature above which A looks as if it were transposed."""

logger = logging.getLogger("qpopt")


class HandedOn(DemandArguments, total=False):
    """Arguments of `Instance` that `prepare` takes as they are."""

    class_names: Sequence[str] | None
    feature_names: Sequence[str] | None
    name: str
    provenance: Mapping[str, Any] | None


HANDED_ON = ("class_names", "feature_names", "name", "provenance", *ARGUMENTS)
"""Their names."""


def prepare(
    A: ArrayLike,
    b: ArrayLike | PublishedBias | None = None,
    *,
    n_select: int,
    n_per_class: int,
    bias_scale: float = 10**-0.5,
    redundancy: float = 1.0,
    epsilon: Literal["clique"] | float | None = "clique",
    seed: int = 0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    hint: Iterable[int] = (),
    specificity: float = 0.0,
    neutral: float = 0.0,
    **handed_on: Unpack[HandedOn],
) -> Instance:
    """Turn raw correlations into an instance whose A, R and b enter the objective as they are.

    Parameters
    ----------
    A
        Raw similarity, classes × features, for example Pearson correlations.
    b
        Raw bias, one value per feature; None for no bias. A `qpopt.preprocessing.PublishedBias`
        brings its own way of clipping outliers.
    n_select, n_per_class
        How many features to select, and how many of them every class gets. With `n_select` well
        below the number of classes every feature serves several; a warning says where few do.
    bias_scale
        λ, the largest absolute bias.
    redundancy
        Weight of redundancy. 1 charges every pair once; 2 is the reading sᵀRs.
    epsilon
        Redundancies below ε are dropped. "clique" finds the smallest ε that leaves a selection
        without redundancy; a number is used as it is; None drops nothing.
    seed
        Seed of the clique search.
    include, exclude
        Features that every selection must and must not contain.
    hint
        A selection to start from; where there is none, it is the clique that decides ε.
    specificity
        κ, from 0 to below 1: how much of its similarity a feature loses that speaks for one class
        only, or for all; those that speak for as many classes as a selected feature serves on
        average, n_per_class · n_classes / n_select, lose nothing.
    neutral
        The entry of A that says nothing: 0 for correlations, 0.5 for AUROC. Only `specificity`
        asks for it.
    **handed_on
        Further arguments of `Instance`: `class_names`, `feature_names`, `name`, `provenance`, and
        all demands, from `forbidden` to `negative`.

    Returns
    -------
    Instance
        Its provenance records `epsilon`, the witness `clique` (a start selection with redundancy
        0), `epsilon_proven` (whether no smaller ε exists; tried up to 256 features, for less than
        a second), the scale factors, `bias_outliers`, `zero_features` and the settings; with
        `specificity` also `effective_classes` and `specificity_factors`, by which the columns of A
        are divided to get them back. These replace entries of the same name in `provenance`.

    Raises
    ------
    InvalidInstance
        If the data is malformed or an argument is out of range.
    InfeasibleInstance
        If no solution can exist.

    Examples
    --------
    >>> import numpy as np
    >>> import qpopt
    >>> correlations = np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.1, 0.7, 0.4], [0.1, 0.3, 0.6, 0.8]])
    >>> instance = qpopt.prepare(correlations, n_select=3, n_per_class=2)
    >>> instance.A.shape, round(instance.provenance["epsilon"], 3)
    ((3, 4), 0.903)
    """
    raw = validation.matrix("A", A)
    n_classes, n_features = raw.shape
    if n_classes > MANY_CLASSES * n_features:
        logger.warning(
            "A has %d classes (rows) and only %d features (columns); is it transposed?",
            n_classes,
            n_features,
        )
    check_scales(
        bias_scale=bias_scale, redundancy=redundancy, epsilon=epsilon, seed=seed,
        specificity=specificity, neutral=neutral,
    )  # fmt: skip
    said = handed_on.get("provenance") or {}
    # All that can be said of counts and demands is said before the work.
    nothing = sparse.csr_array((n_features, n_features)), np.zeros(n_features)
    stated = Instance(
        raw, *nothing, n_select, n_per_class, include=include, exclude=exclude, **handed_on
    )
    n_assigned = stated.budgets.total
    if advice := sharing_advice(n_classes, n_select, n_assigned / n_classes):
        logger.warning("%s", advice)

    origin = dict(freeze("provenance", said, InvalidInstance))
    for claim in ("clique", "epsilon_proven"):  # which only the search below can make
        origin.pop(claim, None)

    R = cosine_redundancy(raw)
    record: dict[str, Any] = {
        "redundancy": float(redundancy),
        "bias_scale": float(bias_scale),
        "seed": int(seed),
        "zero_features": np.flatnonzero(~raw.any(axis=0)),
        "bias_outliers": [],
        "bias_factor": 0.0,
    }
    start = tuple(hint)
    if isinstance(epsilon, str):
        clique = clique_threshold(
            R, n_select, include=stated.included, exclude=stated.excluded, seed=int(seed)
        )
        record["epsilon"], record["clique"] = clique.epsilon, clique.clique
        record["epsilon_proven"] = clique.proven
        start = start or tuple(clique.clique.tolist())
    else:
        record["epsilon"] = None if epsilon is None else float(epsilon)
    if record["epsilon"] is not None:
        R[record["epsilon"] > R] = 0.0

    R, record["redundancy_factor"] = _scaled(R, redundancy)
    if specificity:
        effective = effective_classes(raw, neutral)
        wanted = n_assigned / n_select
        factors = specificity_factors(effective, specificity, wanted, n_classes)
        record |= {"specificity": float(specificity), "effective_classes": effective}
        record["specificity_factors"] = factors
        raw = raw * factors
    similarity, record["similarity_factor"] = _scaled(raw, SIMILARITY_TOTAL / n_assigned)
    bias: NDArray[np.float64] = np.zeros(n_features)
    if b is not None:
        if isinstance(b, PublishedBias):
            found = b.scaled(n_features, bias_scale)
        else:
            found = scale_bias(validation.vector("b", b, n_features), bias_scale)
        bias, record["bias_outliers"], record["bias_factor"] = found
    _warn(record, b is not None)

    handed_on["provenance"] = {**origin, **record}
    return Instance(
        similarity,
        R,
        bias,
        n_select,
        n_per_class,
        include=stated.include,
        exclude=stated.exclude,
        hint=start,
        **handed_on,
    )


def check_scales(
    *,
    bias_scale: float = 10**-0.5,
    redundancy: float = 1.0,
    epsilon: Literal["clique"] | float | None = "clique",
    seed: int = 0,
    specificity: float = 0.0,
    neutral: float = 0.0,
) -> None:
    """Raise what `prepare` would raise for these arguments, before there is any data.

    Raises
    ------
    InvalidInstance
        If an argument is out of range.
    """
    validation.whole_number("seed", seed, error=InvalidInstance)
    for label, scale in (("bias_scale", bias_scale), ("redundancy", redundancy)):
        validation.number(label, scale, least=0.0, error=InvalidInstance)
    validation.number("neutral", neutral, error=InvalidInstance)
    kappa = validation.number("specificity", specificity, least=0.0, error=InvalidInstance)
    if kappa >= 1.0:
        raise InvalidInstance(f"specificity must be below 1, not {specificity!r}.")
    if isinstance(epsilon, str) and epsilon != "clique":
        raise InvalidInstance(f'epsilon must be "clique", a number or None, not {epsilon!r}.')
    if epsilon is not None and not isinstance(epsilon, str):
        validation.number("epsilon", epsilon, error=InvalidInstance)


def _warn(record: Mapping[str, Any], has_bias: bool) -> None:
    """Say what a user would otherwise find out late."""
    zero = set(record["zero_features"].tolist())
    if zero:
        logger.warning("%d features have no similarity to any class.", len(zero))
    idle = len(zero.intersection(record.get("clique", ())))
    if idle:
        logger.warning(
            "%d of them are in the clique that decides ε; exclude them for a larger ε.", idle
        )
    if has_bias and record["bias_factor"] == 0:
        logger.warning("The bias does not vary, outliers aside, and is left out.")


def _scaled(values: NDArray[np.float64], wanted: float) -> tuple[NDArray[np.float64], float]:
    """Scale `values` to the largest absolute entry `wanted`; return them and the factor."""
    largest = float(np.abs(values).max())
    if largest < np.finfo(float).tiny:
        return np.zeros_like(values), 0.0
    return values / largest * wanted, wanted / largest
