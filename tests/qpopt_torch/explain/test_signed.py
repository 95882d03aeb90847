"""Explanations of models with features that must be absent, and with a class bias."""

import numpy as np
import pytest

from qpopt_torch.errors import ModelError
from qpopt_torch.explain import (
    explain_class,
    explain_contrast,
    explain_decision,
    explain_feature,
    explain_neighbours,
    gather,
)
from tests.qpopt_torch.readable import (
    NAMES,
    SELECTION,
    SIGNED,
    UNEVEN,
    signed_sparse,
    small_loader,
)


@pytest.fixture(scope="module", params=[SIGNED, UNEVEN], ids=["signed", "uneven"])
def told(request):
    sparse = signed_sparse(request.param)
    return sparse, gather(sparse, small_loader(), progress=False)


def test_sums_are_the_logits_of_the_model(told):
    sparse, evidence = told
    for x in small_loader()[0][0]:
        found = explain_decision(sparse, x, n_rivals=3, evidence=evidence)
        logits = sparse(x[None])[0].tolist()
        assert found.sums[0].number == int(np.argmax(logits))
        for total in found.sums:
            assert total.logit == pytest.approx(logits[total.number], abs=1e-4)
            shown, terms = total.shown
            assert shown == sum(terms)
            assert len(terms) == len(total.columns) + bool(total.constant)


def test_every_single_change_that_is_named_makes_the_rival_win(told):
    """The logits are computed anew with the feature changed a little more, and a little less."""
    sparse, evidence = told
    weights = sparse.sparse_head.assignment.double().numpy()
    constants = sparse.sparse_head.constants.double().numpy()
    checked = 0
    for x in small_loader()[0][0]:
        found = explain_decision(sparse, x, n_rivals=3, evidence=evidence)
        values = found.sample.values.astype(float)
        for change in found.changes:
            singles = {way[0].column: way[0] for way in change.ways if len(way) == 1}
            for j in range(6):
                if (move := singles.get(j)) is None:
                    # No change of it suffices, however large.
                    if change.n_more == 0:
                        for far in (-1e6, 1e6):
                            moved = values + far * (np.arange(6) == j)
                            assert (weights @ moved + constants).argmax() != change.rival
                    continue
                for share, wins in ((1.001, True), (0.999, False)):
                    moved = values.copy()
                    moved[j] += share * move.by
                    checked += 1
                    winner = int((weights @ moved + constants).argmax())
                    assert (winner == change.rival) == wins
    assert checked > 10


def test_a_class_says_what_must_be_absent():
    sparse = signed_sparse(SIGNED)
    evidence = gather(sparse, small_loader(), progress=False)
    first = explain_class(evidence, 0)
    assert first.summary() == (
        "Feature 0: shared with bee.\nFeature 2 must be absent: of no other class."
    )
    assert [one.get("absent", False) for one in first.to_dict()["features"]] == [False, True]
    assert "no Feature 2" in [axis.get_title() for axis in first.figure()[1].flat]
    contrast = explain_contrast(evidence, 0, 1)
    assert contrast.summary() == "Both: Feature 0.\nOnly ape: no Feature 2.\nOnly bee: Feature 2."
    feature = explain_feature(evidence, 2)
    assert (feature.classes, feature.absent) == ((1,), (0,))
    assert "Used by bee.\nMust be absent in ape." in feature.summary()
    assert [one["class"] for one in feature.to_dict()["absent"]] == ["ape"]


def test_a_decision_names_what_is_absent_and_the_bias():
    x = small_loader()[0][0][0]
    signed = explain_decision(signed_sparse(SIGNED), x, n_rivals=3)
    assert "(no Feature 2)" in signed.summary()
    terms = [term for one in signed.to_dict()["classes"] for term in one["terms"]]
    assert {term["name"] for term in terms if term.get("absent")} == {
        "Feature 2", "Feature 8", "Feature 11",
    }  # fmt: skip
    signed.figure()
    uneven = explain_decision(signed_sparse(UNEVEN), x, n_rivals=3)
    assert "(class bias)" in uneven.summary()
    constants = {one["class"]: one.get("constant") for one in uneven.to_dict()["classes"]}
    assert constants[NAMES[0]] == pytest.approx(0.75)
    assert constants[NAMES[2]] is None


def test_levels_are_opened_by_what_is_active():
    """What is below 0 speaks only for classes in which it must be absent."""
    for x in small_loader()[0][0]:
        found = explain_decision(signed_sparse(SIGNED), x)
        for level in found.to_dict()["levels"]:
            if level["feature"] is not None:
                below = found.sample.values[SELECTION.index(level["feature"])] < 0
                assert level["name"].startswith("no ") == below
                assert level["activation"] > 0


def test_the_map_of_classes_needs_plain_sums():
    with pytest.raises(ModelError, match="must be absent"):
        explain_neighbours(signed_sparse(SIGNED))
