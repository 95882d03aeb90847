import pytest
from torch import nn

from qpopt_torch.training.objectives import TrainingObjective
from tests.qpopt_torch.small import batches, sparse


def test_diversity_enters_the_loss():
    model, data = sparse(), batches()
    losses = []
    for beta in (0.0, 1.0):
        objective = TrainingObjective(model, model.head, beta).eval()
        losses.append(float(objective(*data[0])[0].detach()))
    seen = model.features(data[0][0])
    cross_entropy = nn.functional.cross_entropy(seen.logits, data[0][1])
    assert losses[0] == pytest.approx(float(cross_entropy.detach()), rel=1e-5)
    assert losses[1] < losses[0]
