"""The layer of the feature maps, also behind layers that work on every position by itself."""

import torch
from torch import nn

from qpopt_torch import find_head
from qpopt_torch.network.observation import observe
from tests.qpopt_torch.texts import Text, texts


def test_a_pooler_behind_the_first_token_is_applied_to_every_token():
    model = Text("pooler").eval()
    ids, mask, _ = texts()
    head = find_head(model, {"input_ids": ids, "attention_mask": mask})
    assert (head.layer, head.steps, head.dropouts) == ("body", ("pooler", "tanh()"), ("drop",))
    with observe(model, head) as seen:
        model(ids, mask)
    tokens = torch.tanh(model.pooler(model.body(model.table(ids))))
    torch.testing.assert_close(seen.features, tokens[:, 0])
    there = mask[:, 1:].bool()
    torch.testing.assert_close(seen.maps.movedim(1, 2)[there], tokens[:, 1:][there])
    assert torch.isinf(seen.maps.movedim(1, 2)[~there]).all()


def test_what_follows_an_average_has_no_maps_unless_it_is_a_norm():
    """The average of what a layer makes of each position is not what it makes of the average."""
    torch.manual_seed(0)
    body = [nn.Conv1d(2, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten()]
    x = torch.randn(4, 2, 12)
    between = nn.Sequential(*body, nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 3))
    assert find_head(between, x).layer is None
    normed = nn.Sequential(*body, nn.LayerNorm(6), nn.Linear(6, 3))
    assert find_head(normed, x).layer == "1"
