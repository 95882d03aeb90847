"""The one format of files: a header that names kind and version, then values and arrays.

An archive is an .npz file without pickles. Its array `meta` is UTF-8 JSON: the header and whatever
values the kind has; the other arrays are those of the kind. Kinds without arrays are JSON files
with the same header.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from qpopt._version import __version__
from qpopt.errors import InvalidFile, QpoptError
from qpopt.io.atomic import AnyPath, replacing
from qpopt.io.json_values import plain

FORMAT_VERSION = 1
ZIP_START = b"PK\x03\x04"
DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError)
"""What reading a damaged file makes Python raise."""


def with_header(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values that JSON can hold behind the header of their kind."""
    header = {"format": f"qpopt-{kind}", "version": FORMAT_VERSION, "qpopt": __version__}
    return {**header, **plain(values)}


def save_archive(
    path: AnyPath, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write values that JSON can hold, and arrays by name, to one compressed .npz file.

    `kind` says in a word what it holds: `opened_archive` asks for it.
    """
    text = json.dumps(with_header(kind, meta)).encode()
    with replacing(path) as stream:
        np.savez_compressed(stream, meta=np.frombuffer(text, dtype=np.uint8), **arrays)


@contextmanager
def opened_archive(path: AnyPath, kind: str) -> Iterator[tuple[Any, Any]]:
    """Open an archive that must hold a `kind`, as its arrays by name and its `meta`.

    Raises
    ------
    InvalidFile
        If the file is missing, damaged, foreign, or of a newer format; also where reading it in
        the block shows that.
    """
    with _explained(path, kind), Path(path).open("rb") as stream:
        if stream.read(len(ZIP_START)) != ZIP_START:
            raise _foreign(path, kind)
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            if "meta" not in archive:
                raise _foreign(path, kind)
            meta = json.loads(archive["meta"].tobytes().decode())
            _check_header(path, meta, kind)
            yield archive, meta


def save_json(path: AnyPath, kind: str, record: Mapping[str, Any]) -> None:
    """Write values as readable JSON."""
    content = json.dumps(with_header(kind, record), indent=1, allow_nan=False).encode()
    with replacing(path) as stream:
        stream.write(content)


@contextmanager
def opened_json(path: AnyPath, kind: str) -> Iterator[Any]:
    """Open what `save_json` wrote; errors are those of `opened_archive`."""
    with _explained(path, kind):
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        _check_header(path, record, kind)
        yield record


def _check_header(path: AnyPath, meta: Any, kind: str) -> None:
    if not isinstance(meta, Mapping) or meta.get("format") != f"qpopt-{kind}":
        raise _foreign(path, kind)
    if type(meta["version"]) is not int or meta["version"] < 1:
        raise InvalidFile(f"{path} is damaged: its format version is {meta['version']!r}.")
    if meta["version"] > FORMAT_VERSION:
        raise InvalidFile(
            f"{path} has format version {meta['version']}; this qpopt reads up to "
            f"{FORMAT_VERSION}. Upgrade qpopt."
        )


def _foreign(path: AnyPath, kind: str) -> InvalidFile:
    return InvalidFile(f"{path} is not a qpopt {kind}; pass a file that {kind}.save() wrote.")


@contextmanager
def _explained(path: AnyPath, kind: str) -> Iterator[None]:
    """Turn whatever a bad file makes Python raise into one InvalidFile that names the file."""
    try:
        yield
    except InvalidFile:
        raise
    except QpoptError as error:
        raise InvalidFile(f"{path} holds invalid data: {error}") from error
    except FileNotFoundError:
        raise InvalidFile(f"{path} does not exist.") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise _foreign(path, kind) from None
    except OSError as error:
        raise InvalidFile(f"Cannot read {path}: {error.strerror or error}.") from error
    except MemoryError as error:
        raise InvalidFile(f"{path} is damaged or too large for the memory here.") from error
    except (*DAMAGE, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidFile(
            f"{path} is truncated, damaged or not a qpopt file ({type(error).__name__})."
        ) from error
