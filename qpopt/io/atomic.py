"""Files are written under a temporary name and renamed when complete."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from qpopt.errors import InvalidFile

AnyPath = str | os.PathLike[str]


@contextmanager
def replacing(path: AnyPath) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place only when the block succeeds.

    Raises
    ------
    InvalidFile
        If the file cannot be written, for example because the disk is full. What `path` held
        before is untouched then.
    """
    try:
        target = Path(os.path.realpath(path))
        temporary = target.parent / f".qpopt-{secrets.token_hex(8)}.tmp"
        stream = temporary.open("xb")
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(*paths: AnyPath | None) -> None:
    """Raise if one of the files cannot be written, before hours are spent on what goes there.

    Raises
    ------
    InvalidFile
        Naming the first file that cannot be written.
    """
    for path in paths:
        if path is None:
            continue
        try:
            target = Path(os.path.realpath(path))
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            with tempfile.TemporaryFile(dir=target.parent):
                pass
        except (OSError, ValueError) as error:
            raise _unwritable(path, error) from error


def _unwritable(path: AnyPath, error: Exception) -> InvalidFile:
    return InvalidFile(f"Cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}.")
