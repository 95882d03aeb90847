"""`qpopt-torch predict` and `explain`: decisions on single images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from qpopt import InvalidArgument
from qpopt_torch.cli import options as common
from qpopt_torch.data.preprocessing import opened
from qpopt_torch.explain.decision import Decision, explain_decision
from qpopt_torch.sparse.classifier import SparseClassifier

Images = Annotated[list[Path], typer.Argument(metavar="IMAGE…", help="Image files.")]
Rivals = Annotated[int, typer.Option(min=0, help="How many of the next classes to show.")]


def predict_command(
    directory: common.ModelFolder,
    image: Images,
    rivals: Rivals = 2,
    as_json: common.AsJson = False,
    model: common.OwnModel = None,
    device: common.Device = "auto",
) -> None:
    """Say the class of images, the features that it adds up, and the nearest other classes."""
    sparse = common.opened_model(directory, model, device)
    decisions = {path: _decision(sparse, path, rivals) for path in image}
    if as_json:
        found = [{"image": str(path), **_record(one)} for path, one in decisions.items()]
        print(json.dumps(found, ensure_ascii=False))
        return
    for path, decision in decisions.items():
        first, *others = decision.to_dict()["classes"]
        common.console.print(f"{path}: {first['class']}", soft_wrap=True)
        for entry in (first, *others):
            terms = "  ".join(f"{term['name']} {term['value']:+.2f}" for term in entry["terms"])
            common.console.print(
                f"  {entry['logit']:8.2f}  {entry['class']}: {terms}", soft_wrap=True
            )


def explain_command(
    directory: common.ModelFolder,
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="An image file.")],
    out: Annotated[Path, typer.Option(help="Where to: FILE.html or FILE.png.")],
    rivals: Rivals = 2,
    model: common.OwnModel = None,
    force: common.Force = False,
    device: common.Device = "auto",
) -> None:
    """Draw why an image was decided so: heat maps of its features, sums, what would change it."""
    if out.suffix.lower() not in (".html", ".png"):
        raise InvalidArgument(f"--out must end in .html or .png, not {out.name!r}.")
    common.check_new(out, force)
    sparse = common.opened_model(directory, model, device)
    decision = _decision(sparse, image, rivals)
    decision.write(out)
    common.console.print(str(decision), soft_wrap=True)
    common.console.print(f"written to {out}", soft_wrap=True)


def _decision(sparse: SparseClassifier, path: Path, rivals: int) -> Decision:
    """Explain the decision on the image in a file."""
    x = sparse.preprocess(opened(path))
    known = sparse.record.preprocessing
    colours = None if known is None else (known.mean, known.std)
    return explain_decision(sparse, x, n_rivals=rivals, to_image=colours)


def _record(decision: Decision) -> dict[str, Any]:
    """Return a decision as programs read it."""
    first, *others = decision.to_dict()["classes"]
    return {
        "class": first["class"],
        "logit": first["logit"],
        "features": first["terms"],
        "rivals": [
            {"class": entry["class"], "logit": entry["logit"], "features": entry["terms"]}
            for entry in others
        ],
    }
