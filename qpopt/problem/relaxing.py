"""The plain instance in place of one with demands."""

from __future__ import annotations

import numpy as np

from qpopt.problem.assigning.relaxed import Multipliers, Parts, relaxed_parts
from qpopt.problem.instance import Instance


def relaxed(instance: Instance, by: Multipliers) -> Instance:
    """Return the plain instance; the columns that are added come after all features."""
    plain = plain_instance(instance, relaxed_parts(instance, by))
    # Sets that share all features but one share all columns but one: sizes of a pair are equal.
    object.__setattr__(plain, "alike", instance.pairs)
    return plain


def plain_instance(instance: Instance, parts: Parts) -> Instance:
    """Return the plain instance that is made of these parts."""
    n, more = instance.n_features, parts.columns.shape[1]
    R = instance.R
    if more:
        R = np.zeros((n + more, n + more))
        R[:n, :n] = instance.R
    added = range(n, n + more)
    return Instance(
        np.hstack([parts.A, parts.columns]),
        R,
        np.append(parts.b, np.zeros(more)),
        instance.n_select + more,
        parts.n_per_class,
        include=[*instance.included, *added],
        exclude=instance.excluded,
        hint=[*instance.hint, *added] if instance.hint else (),
        name=instance.name,
    )
