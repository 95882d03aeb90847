"""Forged families in certificates: refused, or what they prove holds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import Instance, bound, check_certificate
from qpopt.cuts.families import Family
from tests.brute_force import brute_force
from tests.qpopt.verification.forging import proves_nothing_false

SCALES = (1.0, 2.0**-40, 2.0**30)


@cache
def case(number):
    """Return an instance of alike classes, its optimum, and a certificate that has a family."""
    rng = np.random.default_rng([7, number])
    A = rng.uniform(0, 1, 8) + (0.1, 0.5, 0.1)[number] * rng.uniform(0, 1, (6, 8))
    scale = SCALES[number]
    instance = Instance(A * scale, np.zeros((8, 8)), np.zeros(8), 4, 2)
    certificate = bound(instance, kind="thresholds", time_limit=None).certificate
    assert families(certificate)
    return instance, brute_force(instance).objective, certificate


def families(certificate):
    """Return where families are: step and group."""
    return [
        (number, place)
        for number, step in enumerate(certificate.steps)
        for place, group in enumerate(step.groups)
        if group.family is not None
    ]


def with_group(certificate, which, **changes):
    """Return the certificate with one of its groups that have a family changed."""
    places = families(certificate)
    number, place = places[which % len(places)]
    groups = list(certificate.steps[number].groups)
    groups[place] = groups[place]._replace(**changes)
    steps = list(certificate.steps)
    steps[number] = replace(steps[number], groups=groups)
    return replace(certificate, steps=tuple(steps))


def family(certificate, which=0):
    places = families(certificate)
    number, place = places[which % len(places)]
    return certificate.steps[number].groups[place].family


@pytest.mark.parametrize("number", range(3))
def test_families_as_they_are_prove_what_they_say(number):
    instance, best, certificate = case(number)
    proven = check_certificate(instance, certificate)
    assert best <= proven <= certificate.bound + 1e-9 * abs(certificate.bound)


AIMED = {
    "gains nothing": lambda own: own._replace(most=0.0),
    "gains a little less": lambda own: own._replace(most=own.most * (1 - 1e-6)),
    "no number": lambda own: own._replace(most=float("nan")),
    "less than nothing": lambda own: own._replace(most=-1e9),
    "a truth value": lambda own: own._replace(most=True),
    "all for nothing": lambda own: own._replace(prices=np.zeros(len(own.core)), most=0.0),
    "paid for it": lambda own: own._replace(prices=-own.prices - 1.0),
    "one price for all": lambda own: own._replace(prices=own.prices[:1]),
    "no core": lambda own: own._replace(core=own.core[:0], prices=own.prices[:0]),
    "a smaller core": lambda own: own._replace(core=own.core[1:], prices=own.prices[1:]),
    "another core": lambda own: own._replace(core=(own.core + 1) % 8),
    "a core of one": lambda own: own._replace(core=np.full(len(own.core), own.core[0])),
    "a mask": lambda own: own._replace(core=np.ones(len(own.core), dtype=bool)),
    "from the end": lambda own: own._replace(core=own.core - 8),
    "beyond all": lambda own: own._replace(core=own.core + 8),
    "columns": lambda own: own._replace(prices=own.prices[:, None]),
    "single precision": lambda own: own._replace(prices=own.prices.astype(np.float32)),
    "huge prices": lambda own: own._replace(prices=np.full(len(own.core), 1e300), most=0.0),
    "none": lambda own: None,
    "a list": list,
}


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("forge", AIMED.values(), ids=AIMED.keys())
def test_no_aimed_change_of_a_family_proves_less_than_the_optimum(forge, number):
    instance, best, certificate = case(number)
    for which in range(len(families(certificate))):
        forged = with_group(certificate, which, family=forge(family(certificate, which)))
        assert proves_nothing_false(instance, forged, best)


@pytest.mark.parametrize("number", range(3))
def test_a_family_is_that_of_its_classes_and_their_thresholds(number):
    instance, best, certificate = case(number)
    own = family(certificate)
    for classes in ((0, 1), (0, 1, 2), (5, 4, 3), tuple(range(6))):
        thresholds = np.zeros(len(classes))
        for values in (thresholds, thresholds - 1e6, thresholds + instance.A.max()):
            changes = {"classes": classes, "thresholds": values, "family": own}
            assert proves_nothing_false(instance, with_group(certificate, 0, **changes), best)
    split = {"feature": 0, "given": np.zeros(6), "given_family": own}
    assert proves_nothing_false(instance, with_group(certificate, 0, **split), best)


@settings(max_examples=150)
@given(st.data())
def test_no_mixture_of_families_proves_less_than_the_optimum(data):
    instance, best, certificate = case(data.draw(st.integers(0, 2)))
    which, other = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    core = data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True))
    size = float(instance.A.max())
    prices = data.draw(st.lists(st.floats(0, 2, width=32), min_size=len(core), max_size=len(core)))
    drawn = Family(
        np.array(core, dtype=np.int64),
        size * np.array(prices),
        size * data.draw(st.floats(0, 6, width=32)),
    )
    own = family(certificate, which)
    new = data.draw(
        st.sampled_from(
            [
                drawn,
                family(certificate, other),
                own._replace(most=drawn.most),
                drawn._replace(most=0.0),
            ]
        )
    )
    forged = with_group(certificate, which, family=new)
    if data.draw(st.booleans()):
        share = data.draw(st.floats(0, 1))
        forged = with_group(forged, which, share=share) if families(forged) else forged
    assert proves_nothing_false(instance, forged, best)
