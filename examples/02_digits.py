"""Handwritten digits, each recognised by a few shared features.

You will see the metrics of a dense and of a sparse network side by side, what is proven of the
selection, the four features of every digit, and a report in which each wrong decision says what
would have put it right, and each decision which set of digits holds the true one with the
probability that you ask for. The network learns the digits that come with scikit-learn; 16 of its
64 features are kept. Takes about a minute on two cores:

    python examples/02_digits.py

With `--studio FOLDER` the model is then opened in the browser, where it can be steered.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import torch
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import qpopt_torch


def digits(batch_size: int = 64) -> tuple[DataLoader, DataLoader, DataLoader]:
    """Return batches of 8 × 8 images of digits: for training, for calibration, and for the test."""
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 8 - 1
    y = torch.tensor(labels)
    train, others = train_test_split(range(len(y)), test_size=0.3, stratify=labels, random_state=0)
    held = [others[0::2], others[1::2]]
    return (
        DataLoader(TensorDataset(x[train], y[train]), batch_size, shuffle=True),
        *(DataLoader(TensorDataset(x[part], y[part]), 256) for part in held),
    )


def as_digit(picture: Image.Image) -> torch.Tensor:
    """Return a picture of one's own as an input: white on black, as the digits are."""
    grey = torch.tensor(list(picture.convert("L").resize((8, 8)).getdata()), dtype=torch.float32)
    return (grey if grey.mean() < 128 else 255 - grey).reshape(1, 8, 8) / 127.5 - 1


def small_network() -> nn.Module:
    """Return an untrained convolutional network with 64 features and maps of 8 × 8."""
    layers: list[nn.Module] = []
    for before, after in ((1, 16), (16, 32), (32, 64)):
        convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def main() -> None:
    """Train, sparsify, fine-tune and print what came of it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--epochs", type=int, default=12)
    arguments.add_argument("--beta", type=float, default=0.784, help="of the diversity loss")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--time-limit", type=float, default=20, help="of a solve, in seconds")
    arguments.add_argument("--report", type=Path, default=Path("digits.html"))
    arguments.add_argument("--studio", type=Path, help="open the studio, kept in this folder")
    arguments.add_argument("--no-browser", action="store_true", help="only print its address")
    given = arguments.parse_args()
    given.report.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(given.seed)
    train, calibration, test = digits()

    dense = small_network()
    qpopt_torch.train_dense(
        dense,
        train,
        qpopt_torch.DenseTraining(
            epochs=given.epochs, lr=2e-2, head_lr=5e-2, decay_every=4, seed=given.seed
        ),
    )
    sparse = qpopt_torch.sparsify(
        dense,
        train,
        n_select=16,
        n_per_class=4,
        val_loader=calibration,
        training=qpopt_torch.FineTuning(
            epochs=given.epochs, decay_every=4, beta=given.beta, seed=given.seed
        ),
        solve={"time_limit": given.time_limit, "seed": given.seed},
    )

    sparse.calibrate_levels(calibration)
    predictor = qpopt_torch.conformal(sparse, calibration, alpha=0.05)

    measured = qpopt_torch.evaluate(dense, test, train)
    print(f"dense\n{measured}\n\nsparse\n{qpopt_torch.evaluate(sparse, test, train)}")
    solution = sparse.solution
    assert solution is not None
    proof = "nothing is proven"
    if solution.gap is not None:
        proof = f"it is provably at most {100 * solution.gap:.2f} % below the best possible one"
    print(
        f"\nThe selection and its assignment have the objective {solution.objective:.2f}; {proof}."
    )
    print(f"\nSets of digits, 95 % of which should hold the true one:\n{predictor.evaluate(test)}")
    print("\ndigit  features")
    for digit in range(10):
        print(f"{digit:5}  {' '.join(f'{d:2}' for d in sparse.class_features(digit))}")
    path = sparse.report(
        given.report, test, train_loader=train, dense=measured, title="Handwritten digits"
    )
    print(f"\nThe report is in {path}.")
    if given.studio is not None:
        opened = sparse.studio(
            test,
            train_loader=train,
            instance=qpopt_torch.collect(dense, train).instance(16, 4),
            folder=given.studio,
            preprocess=as_digit,
            browser=not given.no_browser,
            report={"title": "Handwritten digits"},
        )
        print(f"\nThe studio is at {opened.address} until you press Ctrl-C.", flush=True)
        opened.wait()


if __name__ == "__main__":
    main()
