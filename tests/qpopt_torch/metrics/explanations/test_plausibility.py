import numpy as np
import pytest
import torch

from qpopt_torch import LoaderError
from qpopt_torch.metrics import Plausibility, PointingGame
from qpopt_torch.metrics.explanations.plausibility import at_positions

WEIGHTS = torch.tensor([[1.0, 1, 0], [0, 1, 1]])


def test_masks_at_positions():
    """A position is in when half of it is, and then its neighbours are."""
    masks = torch.zeros(2, 8, 8)
    masks[0, :2, 0] = 1  # half of the first of 4 × 4 positions
    masks[1, 0, 0] = 1  # a quarter of it
    found = at_positions(masks, torch.zeros(2, 1, 4, 4))
    assert found[0].nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert not found[1].any()
    for wrong in (masks[:1], masks[None], masks[0]):
        with pytest.raises(LoaderError, match="mask"):
            at_positions(wrong, torch.zeros(2, 1, 4, 4))


def test_plausibility_worked_out():
    maps = torch.zeros(3, 3, 1, 8)
    maps[0, 0, 0, 0], maps[0, 1, 0, 7], maps[0, 2, 0, 3] = 3.0, 1.0, 9.0
    maps[1] = 5.0  # the same everywhere: nothing is where it should be
    maps[2, 0, 0, 7] = 1.0
    masks = torch.zeros(3, 1, 8)
    masks[:, 0, 0] = 1
    logits = torch.tensor([[1.0, 0]] * 3)
    metric = Plausibility(WEIGHTS)
    metric.update(maps, logits, masks)
    # Of the heat 3 + 1 of class 0, 3 lies on the mask; the second counts 0, the third misses it.
    assert metric.compute() == pytest.approx((0.75 + 0 + 0) / 3)
    # The other class has features 1 and 2: 1 at the end, 9 in the middle.
    other = Plausibility(WEIGHTS)
    other.update(maps[:1], torch.tensor([[0.0, 1]]), masks[:1])
    assert other.compute() == 0


def test_pointing_worked_out():
    maps = torch.zeros(2, 3, 1, 8)
    maps[0, 0, 0, 1], maps[0, 1, 0, 7], maps[0, 2, 0, 0] = 1.0, 1.0, 1.0
    maps[1, 0, 0, 0] = 2.0  # features 1 and 2 are the same everywhere there
    masks = torch.zeros(2, 1, 8)
    masks[:, 0, 0] = 1  # dilated: positions 0 and 1
    metric = PointingGame(WEIGHTS)
    metric.update(maps, torch.tensor([[1.0, 0], [1.0, 0]]), masks)
    assert (metric.hits, metric.n_maps) == (2, 3)
    assert metric.compute() == pytest.approx(2 / 3)
    assert np.isnan(PointingGame(WEIGHTS).compute())
    assert np.isnan(Plausibility(WEIGHTS).compute())


def test_what_does_not_matter():
    generator = torch.Generator().manual_seed(0)
    maps, masks = (torch.rand(9, *s, generator=generator) for s in ((3, 4, 4), (8, 8)))
    logits = torch.rand(9, 2, generator=generator)
    masks = masks.round()

    def measured(maps, order=slice(None), split=4):
        found = [Plausibility(WEIGHTS), PointingGame(WEIGHTS)]
        for rows in (slice(0, split), slice(split, None)):
            for metric in found:
                metric.update(maps[order][rows], logits[order][rows], masks[order][rows])
        return [metric.compute() for metric in found]

    plain = measured(maps)
    assert measured(5 * maps + 3) == pytest.approx(plain)
    assert measured(maps, torch.randperm(9, generator=generator), 7) == pytest.approx(plain)
    # Pointing asks each map by itself.
    assert measured(maps * torch.tensor([1.0, 20, 3])[:, None, None])[1] == pytest.approx(plain[1])
    halves = [PointingGame(WEIGHTS) for _ in range(2)]
    halves[0].update(maps[:3], logits[:3], masks[:3])
    halves[1].update(maps[3:], logits[3:], masks[3:])
    halves[0].merge(halves[1])
    assert halves[0].compute() == pytest.approx(plain[1])
