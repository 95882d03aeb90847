"""What all command lines have in common: one-line errors and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from qpopt.errors import QpoptError

CHECK_FAILED = 1
BAD_USE = 2
INTERRUPTED = 130


def run(
    app: typer.Typer,
    name: str,
    arguments: Sequence[str] | None = None,
    *,
    interrupted: str = "interrupted",
) -> int:
    """Run a command line; every expected error takes one line, which begins with `name`.

    `arguments` are those of the process unless given; `interrupted` is said after Ctrl-C. The exit
    code is 0 good, 1 a check failed, 2 bad use or bad file, 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(args=arguments, standalone_mode=False)
    except (QpoptError, typer.TyperException) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        if message:
            print(f"{name}: {' '.join(message.split())}", file=sys.stderr)
        return BAD_USE
    except MemoryError:
        print(f"{name}: there is not enough memory for this", file=sys.stderr)
        return BAD_USE
    if code == INTERRUPTED:
        print(f"{name}: {interrupted}", file=sys.stderr)
    return code if isinstance(code, int) else 0
