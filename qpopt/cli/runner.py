"""What all command lines have in common: one-line errors and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from threading import current_thread, main_thread

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
        with _ended_like_ctrl_c():
            code = app(args=arguments, standalone_mode=False)
            sys.stdout.flush()
    except (QpoptError, typer.TyperException) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        if message:
            print(f"{name}: {' '.join(message.split())}", file=sys.stderr)
        return BAD_USE
    except MemoryError:
        print(f"{name}: there is not enough memory for this", file=sys.stderr)
        return BAD_USE
    except OSError as error:
        # Files have errors of their own: what is left is the output, to a full disk or to nobody.
        print(f"{name}: cannot write the output: {error.strerror or error}", file=sys.stderr)
        with suppress(OSError, ValueError):
            # What is still to be written would fail once more as Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_USE
    if code == INTERRUPTED:
        print(f"{name}: {interrupted}", file=sys.stderr)
    return code if isinstance(code, int) else 0


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, so that whoever ends a solve gets what it has found."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
