"""Which species there are, which of them are twins, and what they are called."""

from itertools import combinations

import numpy as np
import pytest

from qpopt_torch import DrawnBirds
from qpopt_torch.data.birds.anatomy import PARTS


@pytest.mark.parametrize(("n_species", "seed", "pairs"), [(20, 0, 0.5), (20, 5, 1.0), (60, 1, 0.4)])
def test_twins_differ_in_one_part_and_others_in_more(n_species, seed, pairs):
    shown = DrawnBirds(n_species, 1, seed=seed, pairs=pairs)
    twins = {(pair.first, pair.second): pair.part for pair in shown.twins}
    assert len(twins) == round(pairs * n_species / 2)
    assert len({c for pair in twins for c in pair}) == 2 * len(twins)
    variants = [shown.sample(c).variants for c in range(n_species)]
    for a, b in combinations(range(n_species), 2):
        own, other = variants[a], variants[b]
        differing = [part for part in shown.parts if own[part] != other[part]]
        if (a, b) in twins:
            assert differing == [twins[a, b]]
            assert (shown.attributes[a] ^ shown.attributes[b]).sum() == 2
        else:
            assert len(differing) >= 2


def test_every_part_tells_some_twins_apart():
    shown = DrawnBirds(20, 1, pairs=0.7)
    assert {pair.part for pair in shown.twins} == set(shown.parts)


def test_all_variants_are_about_equally_common():
    counts = DrawnBirds(20, 1).attributes.sum(axis=0)
    sizes = np.repeat([len(p.variants) for p in PARTS], [len(p.variants) for p in PARTS])
    assert (np.abs(counts - 20 / sizes) <= 3.5).all()


@pytest.mark.parametrize("seed", range(6))
def test_no_variant_stands_for_another(seed):
    birds = DrawnBirds(20, 1, seed=seed)
    alike = np.corrcoef(birds.attributes.T)
    parts = np.array(birds.attribute_parts)
    assert alike[parts[:, None] != parts].max() < 0.6


@pytest.mark.parametrize(("n_species", "seed"), [(2, 0), (20, 0), (20, 9), (200, 0)])
def test_a_name_fits_one_species_only(n_species, seed):
    shown = DrawnBirds(n_species, 1, seed=seed)
    assert len(set(shown.class_names)) == n_species
    phrases = {v.phrase: (p.name, v.name) for p in PARTS for v in p.variants}
    everyone = [shown.sample(c).variants for c in range(n_species)]
    for c, name in enumerate(shown.class_names):
        said = [phrases[word] for word in name.split()]
        fitting = [e for e, own in enumerate(everyone) if all(own[p] == v for p, v in said)]
        assert fitting == [c]
    for pair in shown.twins:
        first, second = (shown.class_names[c].split() for c in (pair.first, pair.second))
        told = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
        assert [phrases[a][0] for a, _ in told] == [pair.part]


def test_names_are_stable():
    assert DrawnBirds(6, 1).class_names == (
        "red-bellied long-tail",
        "yellow-bellied long-tail",
        "orange-legged band-tail",
        "blue-legged band-tail",
        "streak-bellied fan-tail",
        "black-legged fork-tail",
    )
