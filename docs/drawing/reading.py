"""Pictures of explanations, from a small model of digits that is trained for them."""

from __future__ import annotations

import runpy
from pathlib import Path

import torch

import qpopt_torch
from drawing.style import save
from qpopt_torch.explain import (
    explain_class,
    explain_contrast,
    explain_decision,
    explain_feature,
    explain_neighbours,
    gather,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "02_digits.py"
EPOCHS = 4
SHOWN = 8
"""The digit that is explained."""


def draw(folder: Path) -> None:
    """Train, and draw all pictures of the page."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    example = runpy.run_path(str(EXAMPLE))
    train, _, test = example["digits"]()
    network = example["small_network"]()
    dense = qpopt_torch.DenseTraining(epochs=EPOCHS, lr=2e-2, head_lr=5e-2, decay_every=2)
    qpopt_torch.train_dense(network, train, dense, progress=False)
    sparse = qpopt_torch.sparsify(
        network,
        train,
        n_select=16,
        n_per_class=4,
        training=qpopt_torch.FineTuning(epochs=EPOCHS, lr=5e-3, decay_every=2),
        solve={"time_limit": 2},
        progress=False,
    )
    evidence = gather(sparse, train, progress=False)
    decided = gather(sparse, test, progress=False)
    of_it = [pair for i in decided.wrong for pair in [decided.samples[i]] if pair.label == SHOWN]
    wrong = (of_it or [decided.samples[i] for i in decided.wrong])[0]
    x, label = test.dataset[wrong.index]
    decision = explain_decision(sparse, x, label=int(label), evidence=evidence)
    column = sorted(sparse.class_features(SHOWN))[0]
    explanations = {
        "class": explain_class(evidence, SHOWN),
        "contrast": explain_contrast(evidence, SHOWN, wrong.prediction),
        "decision": decision,
        "feature": explain_feature(evidence, column),
        "neighbours": explain_neighbours(sparse),
    }
    for name, explanation in explanations.items():
        save(folder, name, lambda look, one=explanation: one.figure()[0], kind="png")
    text = str(decision)
    (folder / "decision.txt").write_text(text + "\n", encoding="utf-8")
