import torch
from torch import nn

from benchmarks.studies.models.probe import fit_probe


def test_a_probe_takes_features_as_they_are():
    """It tells classes apart that differ by little in units that are far from standard."""
    chance = torch.Generator().manual_seed(0)
    labels = torch.arange(90) % 3
    features = 500 + 1e-2 * torch.randn(90, 6, generator=chance)
    features[torch.arange(90), labels] += 0.05
    probes = [nn.Linear(6, 3) for _ in range(2)]
    for probe in probes:
        fit_probe(probe, features, labels, epochs=30, lr=0.05, seed=1)
    assert float((probes[0](features).argmax(1) == labels).float().mean()) > 0.95
    assert torch.equal(probes[0].weight, probes[1].weight)
