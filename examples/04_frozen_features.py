"""200 bird species from features of a frozen network: 50 features, 5 for every species.

You will see the accuracy of a dense linear probe, of a selection that nothing was trained for, and
of an adapter in front of it; and how alike the features of that are to those of the network. The
features of your network are read from a file, so nothing is run twice. A few minutes on two cores:

    python examples/04_frozen_features.py FILE
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import qpopt_torch
from qpopt import solve
from qpopt_torch.metrics import Accuracy, Contrastiveness

USAGE = """%(prog)s FILE [options]
FILE is an .npz file with `features` (samples × features), `labels` (the class of every sample,
counted from 0) and `is_train` (whether a sample is one to train on)."""


def linear_probe(
    features: Tensor, labels: Tensor, test: tuple[Tensor, Tensor], *, epochs: int = 20
) -> float:
    """Return the test accuracy of a dense linear layer on standardised features."""
    mean, std = features.mean(0), features.std(0).clamp_min(1e-6)
    probe = nn.Linear(features.shape[1], int(labels.max()) + 1)
    nn.init.zeros_(probe.weight)
    optimizer = torch.optim.AdamW(probe.parameters(), lr=1e-3, weight_decay=1.0)
    n_steps = epochs * -(-len(features) // 128)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    for _ in range(epochs):
        for members in torch.randperm(len(features)).split(128):
            logits = probe((features[members] - mean) / std)
            loss = F.cross_entropy(logits, labels[members], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            cosine.step()
    with torch.no_grad():
        return Accuracy.of(probe((test[0] - mean) / std), test[1])


def main() -> None:
    """Select, train and compare."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=USAGE
    )
    arguments.add_argument("features", type=Path, metavar="FILE")
    arguments.add_argument("--n-select", type=int, default=50)
    arguments.add_argument("--n-per-class", type=int, default=5)
    arguments.add_argument("--adapter", choices=["linear", "mlp"], default="mlp")
    arguments.add_argument("--time-limit", type=float, default=30)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    torch.manual_seed(given.seed)
    if not given.features.is_file():
        arguments.error(f"there is no file {given.features}")
    with np.load(given.features) as stored:
        if missing := {"features", "labels", "is_train"} - set(stored):
            arguments.error(f"{given.features} lacks {', '.join(sorted(missing))}")
        features = torch.tensor(stored["features"]).float()
        labels = torch.tensor(stored["labels"]).long()
        train = torch.tensor(stored["is_train"]).bool()
    test = features[~train], labels[~train]
    features, labels = features[train], labels[train]

    probe = linear_probe(features, labels, test)
    print(f"dense linear probe   {100 * probe:.1f} %", flush=True)

    statistics = qpopt_torch.Statistics.from_features(features.numpy(), labels.numpy())
    instance = statistics.instance(given.n_select, given.n_per_class, bias="none")
    solution = solve(instance, method="search", time_limit=given.time_limit, seed=given.seed)
    head = qpopt_torch.SparseHead.from_solution(solution, statistics.mean, statistics.std)
    with torch.no_grad():
        plain = Accuracy.of(head.eval()(test[0]), test[1])
    print(f"selection, untrained {100 * plain:.1f} %", flush=True)

    settings = qpopt_torch.AdapterTraining(kind=given.adapter, seed=given.seed)
    qpopt_torch.train_adapter(head, features, labels, settings)
    with torch.no_grad():
        adapted = Accuracy.of(head(test[0]), test[1])
        contrastiveness = Contrastiveness()
        contrastiveness.update(head.normalise(head.select(test[0])))
    print(
        f"{given.adapter} adapter, {given.n_per_class} of {given.n_select} features for every "
        f"class   {100 * adapted:.1f} %"
    )
    correlation = head.adapter.correlation.mean()
    print(f"Contrastiveness      {contrastiveness.compute():.1f}")
    print(f"correlation with the features of the network, mean   {correlation:.2f}")
    print(f"CPU time {time.process_time():.0f} s")


if __name__ == "__main__":
    main()
