"""Files are written under a temporary name and renamed when complete.

Only a regular file is ever taken the place of: what goes to a device or a pipe, such as
/dev/stdout, is written to it directly, and a folder or a socket is refused.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
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

    A device or a pipe is written to as it is.

    Raises
    ------
    InvalidFile
        If the file cannot be written, for example because the disk is full. What `path` held
        before is untouched then.
    """
    if _takes_a_stream(path):
        try:
            with Path(path).open("wb") as stream:
                yield stream
        except OSError as error:
            raise _unwritable(path, error) from error
        return
    try:
        target = Path(os.path.realpath(path))
        _require_replaceable(target)
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
            if _takes_a_stream(path):
                if not os.access(path, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                continue
            target = Path(os.path.realpath(path))
            _require_replaceable(target)
            with tempfile.TemporaryFile(dir=target.parent):
                pass
        except (OSError, ValueError) as error:
            raise _unwritable(path, error) from error


def _takes_a_stream(path: AnyPath) -> bool:
    """Whether a path names a device or a pipe, which is written to and never replaced."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):  # it is not there, or no name of a file, which writing it tells
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _require_replaceable(target: Path) -> None:
    """Raise unless a path is free or names a regular file."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is neither a file nor a device that takes a stream")


def _unwritable(path: AnyPath, error: Exception) -> InvalidFile:
    return InvalidFile(f"Cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}.")
