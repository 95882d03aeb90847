"""Where the commands begin, before anything large is imported.

Loading everything takes a second, with torch several. Ctrl-C that comes in this time would end in
the traceback of some package, or be swallowed by one that catches whatever an import raises.
"""

import os
import signal
from contextlib import suppress
from importlib import import_module
from types import FrameType

INTERRUPTED = 130


def start(module: str, name: str) -> int:
    """Import what a command is made of, and run its `main`; return the exit code.

    Until it is imported nothing has begun, and Ctrl-C and SIGTERM end the process at once.

    Parameters
    ----------
    module
        The module that has the `main`.
    name
        The name of the command, with which its messages begin.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            os.write(2, f"{name}: interrupted\n".encode())
        os._exit(INTERRUPTED)

    # A process that was started deaf to a signal, as a shell's background jobs are, stays deaf.
    handlers = {
        number: signal.signal(number, leave)
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    main = import_module(module).main
    for number, handler in handlers.items():
        signal.signal(number, handler)
    code: int = main()
    return code


def main() -> int:
    """Run the `qpopt` command."""
    return start("qpopt.cli.app", "qpopt")
