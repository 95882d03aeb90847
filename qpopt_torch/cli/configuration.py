"""Options of a command from a TOML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from qpopt import InvalidArgument
from qpopt_torch.errors import reason

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _take(context: typer.Context, path: Path | None) -> Path | None:
    """Let the options in a file stand in for those that are not given."""
    if path is None:
        return None
    try:
        given: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgument(f"Cannot read {path}: {reason(error)}.") from error
    known = {p.name for p in context.command.params if p.name not in (None, "config", "help")}
    values = {key.replace("-", "_"): value for key, value in given.items()}
    if unknown := sorted(values.keys() - known):
        raise InvalidArgument(
            f"{path} has the unknown option {unknown[0]!r}; it may have "
            f"{', '.join(sorted(map(str, known)))}."
        )
    if wrong := [key for key, value in values.items() if isinstance(value, dict)]:
        raise InvalidArgument(f"{wrong[0]} in {path} is a table; it must be a value.")
    context.default_map = {**(context.default_map or {}), **values}
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        callback=_take,
        is_eager=True,
        help="A TOML file with any of these options, as n_select = 50; those given here win.",
    ),
]
