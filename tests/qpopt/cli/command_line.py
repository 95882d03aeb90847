"""The command line, called as a function."""

from __future__ import annotations

from qpopt.cli.app import main


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err
