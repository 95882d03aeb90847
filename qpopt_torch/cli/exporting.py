"""`qpopt-torch export`: a saved model for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpopt_torch.cli import options as common
from qpopt_torch.sparse.onnx import export_onnx


def export_command(
    directory: common.ModelFolder,
    onnx: Annotated[Path, typer.Option(help="The file to write.")],
    model: common.OwnModel = None,
    force: common.Force = False,
) -> None:
    """Write a saved model as ONNX, and check it: onnxruntime must give what torch gives."""
    common.check_new(onnx, force)
    sparse = common.opened_model(directory, model, "cpu")
    difference = export_onnx(sparse, onnx)
    common.console.print(
        f"written to {onnx}; onnxruntime and torch differ by {difference:.1e} at most",
        soft_wrap=True,
    )
