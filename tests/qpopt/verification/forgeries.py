"""What is asked of every forged certificate, and values of JSON that are none of its own."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from qpopt import InvalidCertificate, check_certificate


def proves_nothing_false(instance, certificate, best):
    """Whether a certificate is refused, or proves a bound that holds."""
    try:
        proven = check_certificate(instance, certificate)
    except InvalidCertificate as error:
        return str(error).endswith(".")
    return proven >= best - 4 * np.spacing(abs(best))


JSON_VALUES = st.sampled_from(
    [None, True, False, 0, -1, 2**70, 1e400, float("nan"), "", "1.5", [], {}, [[]], [True, False]]
)


@st.composite
def mutated_json(draw, value):
    """Draw a JSON value that differs from another somewhere inside."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: draw(mutated_json(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], draw(mutated_json(value[place])), *value[place + 1 :]]
    return draw(JSON_VALUES)
