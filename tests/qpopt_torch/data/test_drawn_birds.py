"""The drawn birds keep their promises: same pixels, exact truth, one thing changed at a time."""

import hashlib
from collections import Counter

import numpy as np
import pytest
import torch

from qpopt import InvalidArgument
from qpopt_torch import DrawnBirds, Nuisance
from qpopt_torch.data.birds.anatomy import PARTS

STILL = Nuisance(
    **dict.fromkeys(("turn", "pose", "size", "place", "mirror", "plumage", "tint"), 0),
    **dict.fromkeys(("light", "noise", "clutter", "perch"), 0),
)
"""No nuisance at all."""


def birds(**changed):
    return DrawnBirds(**{"n_species": 8, "n_per_species": 4, "size": 48, **changed})


def pixels(image):
    return (image * 255).round().to(torch.uint8)


def changed_pixels(first, second):
    return (first.image != second.image).any(dim=0).numpy()


@pytest.mark.parametrize(
    ("size", "digest"),
    [(48, "60f6e2425556605c"), (96, "90962476f643c108")],
)
def test_the_same_pixels_on_every_machine(size, digest):
    shown = birds(size=size, seed=3, occlusion=0.2, background="by_species", split="test")
    found = hashlib.sha256()
    for image, _ in shown:
        found.update(pixels(image).numpy().tobytes())
    assert found.hexdigest()[:16] == digest


def test_items():
    shown = birds()
    assert len(shown) == 32
    image, label = shown[9]
    assert label == 2
    assert image.shape == (3, 48, 48)
    assert image.dtype == torch.float32
    assert 0 <= image.min() < 0.3 < 0.7 < image.max() <= 1
    assert [label for _, label in shown] == [c for c in range(8) for _ in range(4)]
    assert torch.equal(shown[-1][0], shown[31][0])
    assert torch.equal(image, shown.sample(9).image)
    with pytest.raises(IndexError, match="no picture 32; there are 32"):
        shown[32]


def test_the_cache_changes_nothing():
    kept, drawn = birds(cache=True), birds(cache=False)
    for _ in range(2):
        assert torch.equal(kept[5][0], drawn[5][0])
    assert list(kept.kept) == [5]
    assert drawn.kept is None


def test_a_picture_is_the_same_however_many_there_are():
    few, many = birds(n_per_species=2), birds(n_per_species=7)
    assert torch.equal(few[3][0], many[8][0])


def test_splits_and_seeds_differ():
    train, test, other = birds(), birds(split="test"), birds(seed=1)
    assert train.class_names == test.class_names
    assert np.array_equal(train.attributes, test.attributes)
    assert all(not torch.equal(train[i][0], test[i][0]) for i in range(len(train)))
    assert not np.array_equal(train.attributes, other.attributes)


def test_attributes_say_what_every_sample_has():
    shown = birds(n_species=20)
    assert shown.attributes.shape == (20, len(shown.attribute_names))
    assert len(shown.attribute_names) == len(set(shown.attribute_names)) >= 22
    for i in range(0, len(shown), 4):
        named = {f"{variant} {part}" for part, variant in shown.sample(i).variants.items()}
        row = shown.attributes[shown[i][1]]
        assert {n for n, has in zip(shown.attribute_names, row, strict=True) if has} == named
        assert len(named) == len(shown.parts) == 7


@pytest.mark.parametrize("occlusion", [0.0, 0.3])
def test_without_changes_only_the_part(occlusion):
    shown = birds(occlusion=occlusion)
    for i in range(0, len(shown), 5):
        whole = shown.sample(i)
        for part in shown.parts:
            less = shown.without(i, part)
            differing = changed_pixels(whole, less)
            assert not (differing & ~whole.masks[part]).any()
            assert not less.masks[part].any()
            assert part not in less.variants
            assert less.label == whole.label
            if occlusion == 0:
                # What shows nothing but the part must change, but for chance.
                inside = whole.coverage[part] == 1
                assert differing[inside].mean() > 0.9


@pytest.mark.parametrize("occlusion", [0.0, 0.3])
def test_swapped_changes_only_the_two_variants(occlusion):
    shown = birds(occlusion=occlusion)
    for i in range(1, len(shown), 9):
        whole = shown.sample(i)
        for part in PARTS:
            for variant in part.variants:
                other = shown.swapped(i, part.name, variant.name)
                either = whole.masks[part.name] | other.masks[part.name]
                differing = changed_pixels(whole, other)
                assert not (differing & ~either).any()
                assert other.variants == {**whole.variants, part.name: variant.name}
                same = variant.name == whole.variants[part.name]
                assert differing.any() != same or occlusion


def test_elsewhere_changes_only_the_background():
    shown = birds()
    for i, other in ((0, 9), (13, 30)):
        here, there = shown.sample(i), shown.elsewhere(i, other)
        bird = sum(here.coverage.values()) == 1
        differing = changed_pixels(here, there)
        assert not differing[bird].any()
        assert differing.mean() > 0.3
        for part in shown.parts:
            assert np.array_equal(here.coverage[part], there.coverage[part])
        assert torch.equal(shown.elsewhere(i, i).image, here.image)


def test_masks_are_exact():
    shown = birds(size=64)
    for i in range(0, len(shown), 3):
        one = shown.sample(i)
        total = sum(one.coverage.values())
        assert total.max() <= 1
        assert all(share.max() > 0.8 for share in one.coverage.values())
        assert all((16 * share == np.round(16 * share)).all() for share in one.coverage.values())
        masks = one.masks
        for near, far in (("tail", "beak"), ("legs", "crest"), ("eye", "tail"), ("beak", "wing")):
            assert not (masks[near] & masks[far]).any()


def test_a_mask_is_where_the_part_is_drawn():
    """Without any nuisance, the eye of a bird that looks to the right is known by hand."""
    shown = birds(nuisance=STILL, size=100)
    for i in range(0, len(shown), 4):
        rows, columns = np.nonzero(shown.sample(i).masks["eye"])
        # The pupil's middle, (702, 306), is 1.32 times as far from the neck, (620, 420), as it is
        # drawn: (248.2, −160.5) units from the middle, (480, 430), 0.078 pixels each.
        assert (50 + 0.078 * -160.5) in _range(rows)
        assert (50 + 0.078 * 248.2) in _range(columns)


class _range:
    def __init__(self, values):
        self.low, self.high = values.min(), values.max() + 1

    def __contains__(self, value):
        return self.low < value < self.high


def test_no_nuisance_gives_one_picture_of_each_species():
    shown = birds(nuisance=STILL, background="by_species")
    for first in range(0, len(shown), 4):
        assert all(torch.equal(shown[first][0], shown[first + k][0]) for k in range(1, 4))
    assert not torch.equal(shown[0][0], shown[4][0])


@pytest.mark.parametrize("amount", sorted(set(Nuisance.__dataclass_fields__)))
def test_every_nuisance_does_something(amount):
    most = {"turn": 20, "pose": 20, "size": 0.3, "place": 0.2, "light": 0.3, "noise": 9}
    one = birds(nuisance=STILL, background="by_species")
    other = birds(
        nuisance=Nuisance(**{**vars(STILL), amount: most.get(amount, 1)}), background="by_species"
    )
    assert any(not torch.equal(one[i][0], other[i][0]) for i in range(4))


def test_one_amount_leaves_the_other_choices():
    one, other = birds(), birds(nuisance=Nuisance(noise=0, light=0, clutter=0))
    for i in range(0, len(one), 7):
        shares = one.sample(i).coverage, other.sample(i).coverage
        assert all(np.array_equal(shares[0][part], shares[1][part]) for part in one.parts)


def test_noise_and_mirror_have_the_amount_that_is_said():
    shown = DrawnBirds(2, 1, nuisance=Nuisance(**{**vars(STILL), "noise": 5}))
    plain = DrawnBirds(2, 1, nuisance=STILL)
    corner = 255 * (shown[0][0] - plain[0][0])[:, :6, :]
    assert corner.mean() == pytest.approx(0, abs=0.6)
    assert corner.std() == pytest.approx(5, rel=0.08)
    half = birds(n_per_species=40)
    to_left = sum(np.nonzero(half.sample(i).masks["beak"])[1].mean() < 24 for i in range(len(half)))
    assert 130 <= to_left <= 190


def hue(image):
    """The mean colour of the upper corners."""
    return image[:, :4, :4].mean(dim=(1, 2))


def test_the_background_tells_the_species_in_training_only():
    train = birds(background="by_species", n_per_species=10)
    test = birds(background="by_species", n_per_species=40, split="test")
    assert all(train.sample(i).background == train[i][1] for i in range(0, len(train), 3))
    colours = [
        torch.stack([hue(train[10 * c + k][0]) for k in range(10)]).mean(dim=0) for c in range(8)
    ]
    nearest = [
        int(torch.stack([(hue(image) - colour).norm() for colour in colours]).argmin())
        for image, _ in train
    ]
    assert np.mean(np.array(nearest) == [label for _, label in train]) > 0.6
    owners = [test.sample(i).background for i in range(len(test))]
    own = np.mean([owner == test[i][1] for i, owner in enumerate(owners)])
    assert 0.06 < own < 0.2
    counts = Counter(owners)
    assert sorted(counts) == list(range(8))
    assert min(counts.values()) > 20
    assert birds().sample(0).background is None


def test_leaves_hide_parts():
    shown = birds(occlusion=0.5, n_per_species=20)
    free = birds(n_per_species=20)
    n_hidden = 0
    for i in range(len(shown)):
        hidden, plain = shown.sample(i), free.sample(i)
        n_hidden += len(hidden.hidden)
        for part in hidden.hidden:
            assert hidden.coverage[part].sum() < 0.7 * plain.coverage[part].sum()
    assert n_hidden == pytest.approx(0.5 * 7 * len(shown), rel=0.1)
    assert all(not free.sample(i).hidden for i in range(10))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_species": 1}, "n_species must be a whole number from 2 to 200, not 1"),
        ({"n_species": 201}, "n_species must be a whole number from 2 to 200"),
        ({"n_species": 2.5}, "n_species must be a whole number"),
        ({"n_per_species": 0}, "n_per_species must be a whole number of at least 1, not 0"),
        ({"size": 8}, "size must be a whole number from 16 to 1024, not 8"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"seed": True}, "seed must be a whole number"),
        ({"pairs": 1.5}, "pairs must be a number from 0 to 1, not 1.5"),
        ({"pairs": "half"}, "pairs must be a number from 0 to 1"),
        ({"occlusion": float("nan")}, "occlusion must be a number from 0 to 1, not nan"),
        ({"background": "blue"}, "background must be one of free, by_species, not 'blue'"),
        ({"split": "val"}, "split must be one of train, test, not 'val'"),
        ({"nuisance": 3}, "nuisance must be a Nuisance, not 3"),
        ({"cache": "yes"}, "cache must be True or False, not 'yes'"),
    ],
)
def test_senseless_arguments(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        birds(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"turn": -1}, "nuisance turn must be a number from 0 to 90, not -1"),
        ({"mirror": 2}, "nuisance mirror must be a number from 0 to 1, not 2"),
        ({"noise": float("inf")}, "nuisance noise must be a number from 0 to 64, not inf"),
        ({"light": "dim"}, "nuisance light must be a number from 0 to 0.5, not 'dim'"),
    ],
)
def test_senseless_nuisance(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        Nuisance(**wrong)


def test_unknown_parts_and_variants():
    shown = birds()
    with pytest.raises(InvalidArgument, match=r"part must be one of beak, .*, not 'nose'"):
        shown.without(0, "nose")
    with pytest.raises(InvalidArgument, match=r"variant of eye must be one of red, .*, not 'pink'"):
        shown.swapped(0, "eye", "pink")
