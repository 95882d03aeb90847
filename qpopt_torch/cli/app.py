"""The `qpopt-torch` command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from qpopt import __version__
from qpopt.cli.runner import run
from qpopt_torch.cli.evaluating import evaluate_command, report_command
from qpopt_torch.cli.exporting import export_command
from qpopt_torch.cli.inspecting import inspect_command
from qpopt_torch.cli.predicting import explain_command, predict_command
from qpopt_torch.cli.sparsifying import sparsify_command
from qpopt_torch.cli.steering import steer_command, studio_command
from qpopt_torch.cli.sweeping import sweep_command

app = typer.Typer(
    name="qpopt-torch", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)

COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "inspect": (inspect_command, "--model timm:resnet18"),
    "sparsify": (
        sparsify_command,
        "--model torchvision:resnet50 --pretrained --data birds --out model "
        "--n-select 50 --n-per-class 5",
    ),
    "sweep": (
        sweep_command,
        "--model timm:resnet18 --pretrained --data birds --n-select 10,20,50 --n-per-class 3,5",
    ),
    "evaluate": (evaluate_command, "model --data birds"),
    "report": (report_command, "model --data birds --out report.html"),
    "predict": (predict_command, "model crow.jpg wren.jpg --json"),
    "explain": (explain_command, "model crow.jpg --out crow.html"),
    "steer": (steer_command, "model --data birds --exclude 17 --out steered"),
    "studio": (studio_command, "model --data birds"),
    "export": (export_command, "model --onnx model.onnx"),
}
"""Every command, and an example of it."""

for _name, (_command, _example) in COMMANDS.items():
    app.command(_name, epilog=f"Example: qpopt-torch {_name} {_example}")(_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"qpopt-torch {__version__}")
        raise typer.Exit


@app.callback()
def overview(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Turn trained networks into sparse ones that can be read."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run(app, "qpopt-torch", arguments, interrupted="interrupted; call it again to continue")
