"""Forged certificates of whole proofs: trees that leave out, repeat or mistake a part."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import (
    Certificate,
    Instance,
    InvalidCertificate,
    InvalidFile,
    check_certificate,
    generate,
    solve,
)
from qpopt.relaxations.step import Step
from qpopt.verification import certificate_check
from qpopt.verification.certificate_check import Claim, End, Split, checked
from qpopt.verification.step_bounds import step_bounds
from tests.brute_force import brute_force
from tests.qpopt.verification.forging import mutated_json, proves_nothing_false

MADE = (("clustered", 0, 1.0), ("uniform", 2, 2.0**-40), ("uniform", 3, 3.0**30))
"""Structure, seed and scale of the instances."""

N_TREES = len(MADE)

BRANCHING = {
    "search_seconds": 0.0,
    "enumerate": False,
    "params": {"branch_below": 10**6, "before_branching": (1, 9.0), "root": {"worth_removing": 2}},
}


@pytest.fixture(scope="module", autouse=True)
def each_step_is_reckoned_once():
    """Most steps of a forged tree are those of the honest one: their bounds are the same."""
    known = {}

    def once(instance, step):
        if id(step) not in known:
            known[id(step)] = step, step_bounds(instance, step)
        return known[id(step)][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate_check, "step_bounds", once)
        yield


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Instances, their optima, and certificates of finished proofs with branches."""
    folder = tmp_path_factory.mktemp("trees")
    return [tree(number, folder / f"{number}.npz") for number in range(N_TREES)]


def tree(number, path):
    structure, seed, scale = MADE[number]
    made = generate(10, 5, 5, 2, structure=structure, seed=seed)
    A = made.A.copy()
    A[1] = A[0]  # equal classes: distinct sets matter
    R = 3 * made.R * scale
    instance = Instance(A * scale, R, made.b * scale, 5, 2, include=[0], exclude=[9])
    solve(instance, gap=0.0, options={**BRANCHING, "certificate": path})
    certificate = Certificate.load(path)
    # Ends that are left out are there as well: every place can then be attacked.
    closed = len(splits(certificate)) + 1 - sum(isinstance(i, End) for i in certificate.steps)
    whole = replace(certificate, steps=(*certificate.steps, *[End(enumerated=False)] * closed))
    return instance, brute_force(instance).objective, whole


def splits(certificate):
    """Return where the splits are."""
    return [i for i, item in enumerate(certificate.steps) if isinstance(item, Split)]


def end_of(items, first):
    """Return where the part that begins at a place is over."""
    depth = 1
    for i in range(first, len(items)):
        depth += isinstance(items[i], Split) - isinstance(items[i], End)
        if depth == 0:
            return i + 1
    return len(items)


def with_items(certificate, items):
    return replace(certificate, steps=tuple(items))


def halves(certificate, place):
    """Return everything up to a split, both of its parts, and the rest."""
    items = certificate.steps
    middle = end_of(items, place + 1)
    last = end_of(items, middle)
    return items[: place + 1], items[place + 1 : middle], items[middle:last], items[last:]


def test_there_is_something_to_forge(trees):
    for instance, best, certificate in trees:
        assert len(splits(certificate)) >= 2
        assert proves_nothing_false(instance, certificate, best)
        assert check_certificate(instance, certificate) == pytest.approx(best, rel=1e-6)


def test_no_item_can_be_left_out_repeated_or_moved(trees):
    for instance, best, certificate in trees:
        items = certificate.steps
        for i, item in enumerate(items):
            without = (*items[:i], *items[i + 1 :])
            assert proves_nothing_false(instance, with_items(certificate, without), best)
            twice = (*items[: i + 1], *items[i:])
            assert proves_nothing_false(instance, with_items(certificate, twice), best)
            for j in (0, i + 1, len(items) - 1):
                moved = (*without[:j], item, *without[j:])
                assert proves_nothing_false(instance, with_items(certificate, moved), best)


def test_no_half_stands_for_the_other(trees):
    for instance, best, certificate in trees:
        for place in splits(certificate):
            before, chosen, rest, after = halves(certificate, place)
            for first, second in (
                (rest, chosen),
                (chosen, chosen),
                (rest, rest),
                (chosen, ()),
                ((), rest),
            ):
                forged = with_items(certificate, (*before, *first, *second, *after))
                assert proves_nothing_false(instance, forged, best)
            for feature in (-1, 0, 3, 5, 8, 9, 10):
                other = (*before[:-1], Split(feature), *chosen, *rest, *after)
                assert proves_nothing_false(instance, with_items(certificate, other), best)


def test_no_step_proves_another_part(trees):
    for instance, best, certificate in trees:
        places = [i for i, item in enumerate(certificate.steps) if isinstance(item, Step)]
        for i in places:
            for j in places[i % 2 :: 2]:
                items = list(certificate.steps)
                items[i] = items[j]
                assert proves_nothing_false(instance, with_items(certificate, items), best)
                # The same with the features that the part really has.
                items[i] = replace(
                    items[j], free=certificate.steps[i].free, included=certificate.steps[i].included
                )
                assert proves_nothing_false(instance, with_items(certificate, items), best)


def test_no_feature_changes_sides(trees):
    for instance, best, certificate in trees:
        for i, item in enumerate(certificate.steps):
            if not isinstance(item, Step):
                continue
            for d in range(i % 3, instance.n_features, 3):
                out = {
                    name: np.setdiff1d(getattr(item, name), [d]) for name in ("free", "included")
                }
                both = {name: np.append(getattr(item, name), d) for name in ("free", "included")}
                for changes in (
                    out, both, {**out, "free": both["free"]}, {**out, "included": both["included"]},
                ):  # fmt: skip
                    items = list(certificate.steps)
                    items[i] = replace(item, **changes)
                    assert proves_nothing_false(instance, with_items(certificate, items), best)


def test_no_end_hides_what_is_left(trees):
    for instance, best, certificate in trees:
        for i in range(len(certificate.steps) + 1):
            for item in (End(True), End(False), Split(3), Claim("HiGHS", -1e9)):
                items = list(certificate.steps)
                assert proves_nothing_false(
                    instance, with_items(certificate, [*items[:i], item, *items[i:]]), best
                )
                items[i : i + 1] = [item]
                assert proves_nothing_false(instance, with_items(certificate, items), best)


def test_no_claim_counts_as_proven(trees):
    for instance, _, certificate in trees:
        honest = check_certificate(instance, certificate)
        plain = with_items(certificate, [i for i in certificate.steps if not isinstance(i, Step)])
        open_ = checked(instance, with_items(plain, ()))
        assert open_ == (np.inf, np.inf, ())
        low = Claim("HiGHS", -1e300)
        everything = checked(instance, with_items(certificate, (low, *certificate.steps)))
        assert everything.proven == honest
        alone = checked(instance, with_items(certificate, (low,)))
        assert alone == (np.inf, certificate.objective, ("HiGHS",))
        # One half claimed, the other open: nothing is known of the whole.
        half = checked(instance, with_items(certificate, (Split(4), low, End(False))))
        assert half == (np.inf, np.inf, ())


@pytest.mark.parametrize(
    "claim",
    [
        Claim("", 1.0), Claim("high\x1b[31m", 1.0), Claim("a b", 1.0), Claim(None, 1.0),
        Claim("HiGHS", np.nan), Claim("HiGHS", -np.inf), Claim("HiGHS", None), Claim("HiGHS", 1),
        Claim("HiGHS", True), Claim("HiGHS", np.zeros(2)), Claim(["HiGHS"], 1.0),
    ],
)  # fmt: skip
def test_claims_say_whose_and_what(trees, claim):
    instance, _, certificate = trees[0]
    with pytest.raises(InvalidCertificate, match="claim"):
        check_certificate(instance, with_items(certificate, (claim, *certificate.steps)))


def test_watched_features_have_the_bounds_that_their_points_prove(trees):
    rng = np.random.default_rng(0)
    for instance, best, certificate in trees:
        first = next(i for i, item in enumerate(certificate.steps) if isinstance(item, Step))
        step = certificate.steps[first]
        n = len(step.free)
        for points in (np.zeros((n, n)), np.eye(n), rng.random((n, n)), 1e6 * rng.random((n, n))):
            watching = replace(
                step, removed=step.free[:0], forced=step.free[:0], watched=step.free, points=points
            )
            chain = [Split(int(d)) for d in step.free]
            for items in (
                [watching],
                [watching, *chain],
                [watching, *[i for d in chain for i in (d, End(False))]],
            ):
                assert proves_nothing_false(instance, with_items(certificate, items), best)
        for watched in (np.array([0, 0]), np.array([99]), np.array([-1]), np.array([True]), None):
            odd = replace(step, watched=watched, points=np.zeros((len(step.removed) + 2, n)))
            with pytest.raises(InvalidCertificate):
                check_certificate(instance, with_items(certificate, [odd]))


def test_a_tree_in_itself_is_none(trees):
    instance, _, certificate = trees[0]
    items = list(certificate.steps)
    items.insert(1, items)
    with pytest.raises(InvalidCertificate):
        check_certificate(instance, replace(certificate, steps=items))


@st.composite
def forged_trees(draw, certificate):
    """Draw a tree that differs from another by some changes of any kind."""
    items = list(certificate.steps)
    steps = [item for item in items if isinstance(item, Step)]
    for _ in range(draw(st.integers(1, 4))):
        i = draw(st.integers(0, max(0, len(items) - 1)))
        feature = draw(st.integers(-1, 10))
        new = draw(
            st.sampled_from([Split(feature), End(True), End(False), Claim("HiGHS", -1e9), *steps])
        )
        kind = draw(st.sampled_from(["drop", "insert", "replace", "swap", "cut", "repeat", "step"]))
        if kind == "drop":
            del items[i : i + 1]
        elif kind == "insert":
            items.insert(i, new)
        elif kind == "replace":
            items[i : i + 1] = [new]
        elif kind == "swap" and items:
            j = draw(st.integers(0, len(items) - 1))
            items[i], items[j] = items[j], items[i]
        elif kind == "cut":
            del items[i : end_of(items, i)]
        elif kind == "repeat":
            items[i:i] = items[i : end_of(items, i)]
        elif items and isinstance(items[i], Step):
            sides = {
                name: draw(st.sampled_from([getattr(one, name) for one in steps]))
                for name in ("free", "included", "removed", "forced", "watched", "points", "B", "y")
            }
            chosen = draw(st.lists(st.sampled_from(sorted(sides)), max_size=3))
            items[i] = replace(items[i], **{name: sides[name] for name in chosen})
    return with_items(certificate, items)


@settings(max_examples=200)
@given(st.data())
def test_no_mixture_of_changes_proves_less_than_the_optimum(trees, data):
    instance, best, certificate = trees[data.draw(st.integers(0, N_TREES - 1))]
    assert proves_nothing_false(instance, data.draw(forged_trees(certificate)), best)


@settings(max_examples=25)
@given(st.data())
def test_no_edited_file_of_a_tree_proves_something_false(trees, tmp_path_factory, data):
    instance, best, certificate = trees[1]
    path = tmp_path_factory.getbasetemp() / "tree.npz"
    certificate.save(path)
    with np.load(path) as archive:
        content = dict(archive)
    meta = json.loads(content["meta"].tobytes())
    meta["steps"] = data.draw(mutated_json(meta["steps"]))
    content["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, **content)
    try:
        forged = Certificate.load(path)
    except InvalidFile:
        return
    assert proves_nothing_false(instance, forged, best)
