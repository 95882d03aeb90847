"""All that is known of a model of drawn birds, against its single measurements."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from qpopt import Solution
from qpopt_torch import DrawnBirds, SparseClassifier, collect
from qpopt_torch.evidence.meaning import alignment_of, meaning_of
from qpopt_torch.metrics.birds.parts import part_alignment
from qpopt_torch.metrics.birds.twins import TwinContrast
from tests.qpopt_torch.meant import meaning
from tests.qpopt_torch.small import cnn, sparse


class Painted(nn.Module):
    """Maps that show the red of a picture and its blue, whatever the weights."""

    def forward(self, x):
        red, green, blue = x.unbind(dim=1)
        return torch.stack([(red - green - blue).relu(), (blue - red).relu(), green], dim=1)


def model_of(birds):
    """A model of three features, of which every class has two."""
    network = nn.Sequential(Painted(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3))
    statistics = collect(network, DataLoader(birds, 6), progress=False)
    assignment = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)
    return SparseClassifier.from_solution(
        network, Solution(np.arange(3), assignment, 0.0), statistics
    )


def test_figures_of_the_whole_model():
    assert meaning().percent() == pytest.approx(
        {
            "aligned": 200 / 3,
            "confirmed": 100 / 3,
            "found": 200 / 3,
            "own_drop": 1.5,
            "other_drop": 0.3,
            "deletion": 0.75,
            "background": 90,
            "pointing": 350 / 4,
            "of_part": 200 / 3,
            "twins": 50,
        }
    )
    assert meaning().confirmed == {0}
    assert meaning().chance == pytest.approx(60 / 4)


def test_names_in_doubt_have_a_question_mark():
    assert meaning().names([5, 7, 9]) == {5: "red eye (0.99)", 7: "fan tail? (0.97)"}
    assert str(meaning()) == (
        "2 of 3 features recognise one variant of a part (AUROC ≥ 0.95), 1 of these fall most when "
        "just that part is taken off; 2 of 3 variants are found."
    )


def test_twins_told_best_come_first():
    half, doubted = TwinContrast(0, 1, "eye", (0, 2), 1), TwinContrast(2, 3, "tail", (1,), 1)
    sure, nothing = TwinContrast(4, 5, "eye", (0,), 1), TwinContrast(6, 7, "wing", (), 0)
    pairs = replace(meaning(), twins=(nothing, half, doubted, sure))
    assert pairs.telling == (sure, doubted, half, nothing)


def test_what_is_not_there_is_no_number():
    bare = replace(meaning(), effects=(), pointing={}, twins=()).percent()
    undefined = {name for name, value in bare.items() if np.isnan(value)}
    assert undefined == {"own_drop", "other_drop", "pointing", "of_part", "twins"}


@pytest.mark.parametrize("relu", [False, True])
def test_alignment_is_that_of_what_is_added_up(relu):
    birds = DrawnBirds(3, 4, size=32, split="test")
    model = model_of(birds)
    model.sparse_head.relu = relu
    images = torch.stack([birds[i][0] for i in range(12)])
    features = Painted()(images).mean(dim=(2, 3)).numpy()
    if relu:  # what is below the mean counts as the mean
        features = np.maximum(features, model.sparse_head.mean.numpy())
    expected = part_alignment(
        features, np.repeat(np.arange(3), 4), birds.attributes, birds.attribute_names
    )
    found = alignment_of(model, birds, progress=False)
    assert found.aurocs == pytest.approx(expected.aurocs, nan_ok=True)


def test_pointing_looks_at_birds_that_have_the_variant():
    birds = DrawnBirds(3, 4, size=32, split="test")
    found = meaning_of(model_of(birds), birds, progress=False)
    assert set(found.pointing) == set(np.flatnonzero(found.alignment.aligned))
    assert found.pointing
    for j, game in found.pointing.items():
        variant = found.alignment.best[j]
        part = birds.attribute_parts[variant]
        rows = [i for i in range(12) if birds.attributes[i // 4, variant]]
        hits = []
        for i in rows:
            # Here a map has a position for every pixel.
            values = Painted()(birds[i][0][None])[0, j].numpy()
            hits.append(birds.sample(i).masks[part].flat[values.argmax()])
        assert game.n_maps == len(rows)
        assert game.hits == pytest.approx(100 * np.mean(hits))


def test_all_figures_come_from_the_pictures_asked_for():
    birds = DrawnBirds(4, 3, size=32, split="test", pairs=1.0)
    model = sparse(cnn(), DataLoader(birds, 6))
    found = meaning_of(model, birds, [0, 4, 8], progress=False)
    assert len(found.twins) == 2
    assert all(game.n_maps <= 3 for game in found.pointing.values())
    assert found.background.kept * 3 / 100 == pytest.approx(round(found.background.kept * 3 / 100))
