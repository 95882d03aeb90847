"""prepare: from a raw correlation matrix to an Instance."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.errors import InvalidInstance
from qpopt.io.json_values import freeze
from qpopt.preprocessing.bias import scale_bias
from qpopt.preprocessing.epsilon import clique_threshold
from qpopt.preprocessing.published_bias import PublishedBias
from qpopt.preprocessing.redundancy import redundancy as cosine_redundancy
from qpopt.preprocessing.sharing import sharing_advice
from qpopt.problem import validation
from qpopt.problem.instance import Instance

SIMILARITY_TOTAL = 1000.0
"""Z of a solution in which every assigned entry of A is the largest one."""
MANY_CLASSES = 2
"""Classes a feature above which A looks as if it were transposed."""

logger = logging.getLogger("qpopt")


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
    class_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    name: str = "",
    provenance: Mapping[str, Any] | None = None,
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
    class_names, feature_names, name, provenance
        Handed on to the instance.

    Returns
    -------
    Instance
        Its provenance records `epsilon`, the witness `clique` (a start selection with redundancy
        0), `epsilon_proven` (whether no smaller ε exists; tried up to 256 features, for less than
        a second), the scale factors, `bias_outliers`, `zero_features` and the settings; these
        replace entries of the same name in `provenance`.

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
    n_select, n_per_class, included, excluded = validation.check_counts(
        n_features, n_classes, n_select, n_per_class, include=include, exclude=exclude
    )
    if advice := sharing_advice(n_classes, n_select, n_per_class):
        logger.warning("%s", advice)
    check_scales(bias_scale=bias_scale, redundancy=redundancy, epsilon=epsilon, seed=seed)

    said = {} if provenance is None else provenance
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
        clique = clique_threshold(R, n_select, include=included, exclude=excluded, seed=int(seed))
        record["epsilon"], record["clique"] = clique.epsilon, clique.clique
        record["epsilon_proven"] = clique.proven
        start = start or tuple(clique.clique.tolist())
    else:
        record["epsilon"] = None if epsilon is None else float(epsilon)
    if record["epsilon"] is not None:
        R[record["epsilon"] > R] = 0.0

    R, record["redundancy_factor"] = _scaled(R, redundancy)
    similarity, record["similarity_factor"] = _scaled(
        raw, SIMILARITY_TOTAL / (n_per_class * n_classes)
    )
    bias: NDArray[np.float64] = np.zeros(n_features)
    if b is not None:
        if isinstance(b, PublishedBias):
            found = b.scaled(n_features, bias_scale)
        else:
            found = scale_bias(validation.vector("b", b, n_features), bias_scale)
        bias, record["bias_outliers"], record["bias_factor"] = found
    _warn(record, b is not None)

    return Instance(
        similarity,
        R,
        bias,
        n_select,
        n_per_class,
        include=included,
        exclude=excluded,
        hint=start,
        class_names=class_names,
        feature_names=feature_names,
        name=name,
        provenance={**origin, **record},
    )


def check_scales(
    *,
    bias_scale: float = 10**-0.5,
    redundancy: float = 1.0,
    epsilon: Literal["clique"] | float | None = "clique",
    seed: int = 0,
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
