"""The model card: README.md beside a saved model, for whoever finds the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qpopt.io import replacing
from qpopt_torch.network.specification import OWN, described

if TYPE_CHECKING:
    from qpopt_torch.sparse.classifier import SparseClassifier

CARD = "README.md"
MARK = "<!-- Written by qpopt beside a saved model; the next save replaces it. -->"
"""Begins a card, so that no file of somebody else is taken for one."""
SHOWN = 60
"""Rows of a table that a card shows."""


def write_card(folder: Path, model: SparseClassifier) -> None:
    """Write the card of a model, unless a file of another origin has its name."""
    path = folder / CARD
    if path.exists() and not path.read_bytes().startswith(MARK.encode()):
        return
    with replacing(path) as stream:
        stream.write(card(model).encode())


def card(model: SparseClassifier) -> str:
    """Return what a model is, how good it is, what its classes are made of, and its limits."""
    return "\n".join([MARK, *_overview(model), *_metrics(model), *_features(model), *_end(model)])


def _overview(model: SparseClassifier) -> Iterator[str]:
    head, n_select = model.head, len(model.selection)
    sizes = (model.assignment != 0).sum(axis=1)
    n_per_class = f"{sizes.min()} to {sizes.max()}" if np.ptp(sizes) else f"{sizes[0]}"
    origin = described(model.network)["model"]
    built = not origin.startswith(OWN)
    given = "" if built else ", model"
    yield "# A sparse classifier"
    yield ""
    yield (
        f"{head.n_classes} classes, each the plain sum of {n_per_class} out of {n_select} features "
        f"that all classes share. The features were chosen among {head.n_features} of a trained "
        f"network ({origin})."
    )
    yield ""
    yield "```python"
    pictures = model.record.preprocessing is not None
    if pictures:
        yield "from PIL import Image"
        yield ""
    yield "import qpopt_torch"
    yield ""
    yield f'sparse = qpopt_torch.load("."{given})'
    if pictures:
        yield 'logits = sparse(sparse.preprocess(Image.open("image.jpg"))[None])'
    else:
        yield "logits = sparse(x)  # inputs as the network takes them"
    yield "sparse.class_features(0)  # the features of the first class"
    yield "```"
    if not built:
        yield ""
        yield "`model` is the network, freshly built; its weights do not matter."


def _metrics(model: SparseClassifier) -> Iterator[str]:
    known = model.record.metrics
    yield ""
    yield "## How good it is"
    yield ""
    if "sparse" not in known:
        yield "Nothing was measured when it was made: it was given no validation samples."
        return
    sparse = known["sparse"].titled()
    dense = known["dense"].titled() if "dense" in known else {}
    yield f"Measured on {known['sparse'].n_samples:,} validation samples."
    yield ""
    yield "| | this model | the dense network |"
    yield "|---|---|---|"
    for title, value in sparse.items():
        if value is not None:
            other = dense.get(title)
            shown = "–" if other is None else f"{other:.1f} %"
            yield f"| {title} | {value:.1f} % | {shown} |"


def _features(model: SparseClassifier) -> Iterator[str]:
    names = model.class_names or tuple(map(str, range(model.head.n_classes)))
    yield ""
    yield "## What the classes are made of"
    yield ""
    yield "| class | features |"
    yield "|---|---|"
    for c, name in enumerate(names[:SHOWN]):
        said = [model.feature_name(d) for d in model.class_features(c)]
        said += [f"not {model.feature_name(d)}" for d in model.absent_features(c)]
        parts = ", ".join(said)
        yield f"| {_cell(name)} | {_cell(parts)} |"
    if len(names) > SHOWN:
        yield ""
        yield f"… and {len(names) - SHOWN} more."


def _end(model: SparseClassifier) -> Iterator[str]:
    yield ""
    yield "## Limits"
    yield ""
    yield "- It always answers with one of its classes, also for inputs of none of them."
    yield (
        "- A sum says how the model decides, not that its features mean what people would call "
        "them. Names are given by people or by what the features respond to."
    )
    yield (
        "- What was measured holds for samples like those it was measured on; whatever misled the "
        "dense network in its data may mislead this one."
    )
    yield ""
    used = model.record.versions.items()
    yield f"Made with {', '.join(f'{name} {version}' for name, version in used)}."
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
