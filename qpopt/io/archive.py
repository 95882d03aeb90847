"""Saving and loading. Files are written under a temporary name and renamed when complete.

An instance is one .npz archive without pickles:

====================  =========================================================================
``meta``              UTF-8 JSON: format, version, counts, names, provenance, fingerprint
``A``, ``b``          float64
``redundant``         the upper triangle of R row by row, one packed bit a pair: is it positive?
``redundancy``        float64, the positive values in the same order
====================  =========================================================================

A solution is one JSON object that gives every class the list of its features.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from qpopt._version import __version__
from qpopt.errors import InvalidFile, QpoptError
from qpopt.io.json_values import plain_value
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution

INSTANCE_FORMAT = "qpopt-instance"
SOLUTION_FORMAT = "qpopt-solution"
CERTIFICATE_FORMAT = "qpopt-certificate"
CHECKPOINT_FORMAT = "qpopt-checkpoint"
FORMAT_VERSION = 1
ZIP_START = b"PK\x03\x04"
DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError)
"""What reading a damaged file makes Python raise."""

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


def save_instance(instance: Instance, path: AnyPath) -> None:
    """Write an instance to one compressed .npz file."""
    meta = {
        "format": INSTANCE_FORMAT,
        "version": FORMAT_VERSION,
        "qpopt": __version__,
        "fingerprint": instance.fingerprint,
        "n_select": instance.n_select,
        "n_per_class": instance.n_per_class,
        "include": instance.include,
        "exclude": instance.exclude,
        "class_names": instance.class_names,
        "feature_names": instance.feature_names,
        "name": instance.name,
        "provenance": dict(instance.provenance),
    }
    above = np.triu_indices(instance.n_features, 1)
    pairs = instance.R[above]
    with replacing(path) as stream:
        np.savez_compressed(
            stream,
            meta=np.frombuffer(json.dumps(meta, default=plain_value).encode(), dtype=np.uint8),
            A=instance.A,
            b=instance.b,
            redundant=np.packbits(pairs > 0),
            redundancy=pairs[pairs > 0],
        )


@contextmanager
def opened_archive(path: AnyPath, expected: str) -> Iterator[tuple[Any, Any]]:
    """Open an .npz archive that qpopt wrote, as the archive and its `meta`.

    Parameters
    ----------
    path
        The file.
    expected
        The format that its `meta` must name.

    Raises
    ------
    InvalidFile
        If the file is missing, damaged, foreign, or of a newer format; also where reading it in
        the block shows that.
    """
    with _explained(path, expected), Path(path).open("rb") as stream:
        if stream.read(len(ZIP_START)) != ZIP_START:
            raise _foreign(path, expected)
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            if "meta" not in archive:
                raise _foreign(path, expected)
            meta = json.loads(archive["meta"].tobytes().decode())
            _check_header(path, meta, expected)
            yield archive, meta


def load_instance(path: AnyPath) -> Instance:
    """Read an instance that `save_instance` wrote, and check that nothing has changed since."""
    with opened_archive(path, INSTANCE_FORMAT) as (archive, meta):
        A, b = archive["A"], archive["b"]
        if A.ndim != 2 or b.shape != A.shape[1:]:
            raise InvalidFile(f"{path} is damaged: A and b do not fit together.")
        instance = Instance(
            A,
            _redundancy_matrix(archive["redundant"], archive["redundancy"], b.size),
            b,
            meta["n_select"],
            meta["n_per_class"],
            include=meta["include"],
            exclude=meta["exclude"],
            class_names=meta["class_names"],
            feature_names=meta["feature_names"],
            name=meta["name"],
            provenance=meta["provenance"],
        )
        if instance.fingerprint != meta["fingerprint"]:
            raise InvalidFile(f"{path} is damaged: its content does not match its fingerprint.")
    return instance


def solution_record(solution: Solution) -> dict[str, Any]:
    """Return a solution as values that JSON can hold, the way `save_solution` writes them."""
    return {
        "format": SOLUTION_FORMAT,
        "version": FORMAT_VERSION,
        "qpopt": __version__,
        "fingerprint": solution.fingerprint,
        "status": solution.status.value,
        "objective": solution.objective,
        "bound": solution.bound,
        "method": solution.method,
        "solver": solution.solver,
        "seconds": solution.seconds,
        "seed": solution.seed,
        "selection": None if solution.selection is None else solution.selection.tolist(),
        "class_sets": solution.class_sets() if solution.found else None,
        "trace": [list(point) for point in solution.trace],
        "details": json.loads(json.dumps(solution.details, default=plain_value)),
    }


def save_solution(solution: Solution, path: AnyPath) -> None:
    """Write a solution as readable JSON."""
    content = json.dumps(solution_record(solution), indent=1, allow_nan=False).encode()
    with replacing(path) as stream:
        stream.write(content)


def load_solution(path: AnyPath) -> Solution:
    """Read a solution that `save_solution` wrote."""
    with _explained(path, SOLUTION_FORMAT):
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        _check_header(path, record, SOLUTION_FORMAT)
        selection, assignment = _read_sets(path, record["selection"], record["class_sets"])
        return Solution(
            selection,
            assignment,
            record["objective"],
            status=record["status"],
            bound=record["bound"],
            method=record["method"],
            solver=record["solver"],
            seconds=record["seconds"],
            seed=record["seed"],
            trace=record["trace"],
            fingerprint=record["fingerprint"],
            details=record["details"],
        )


def _read_sets(
    path: AnyPath, selection: Any, class_sets: Any
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_] | None]:
    """Turn the lists of a file into arrays; nothing is rounded, sorted or left out on the way."""
    if selection is None:
        return None, None
    for features in (selection, *class_sets):
        if any(type(d) is not int for d in features) or len(set(features)) < len(features):
            raise InvalidFile(f"{path} is damaged: {features!r} is no set of features.")
    assignment = np.zeros((len(class_sets), len(selection)), dtype=bool)
    column = {d: j for j, d in enumerate(selection)}
    for c, features in enumerate(class_sets):
        assignment[c, [column[d] for d in features]] = True
    return np.array(selection, dtype=np.int64), assignment


def _redundancy_matrix(
    bits: NDArray[np.uint8], values: NDArray[np.float64], n_features: int
) -> NDArray[np.float64]:
    """Rebuild R from its packed upper triangle."""
    n_pairs = n_features * (n_features - 1) // 2
    pairs = np.zeros(n_pairs)
    pairs[np.unpackbits(bits, count=n_pairs).astype(bool)] = values
    R = np.zeros((n_features, n_features))
    R[np.triu_indices(n_features, 1)] = pairs
    return R + R.T


def _check_header(path: AnyPath, meta: Any, expected: str) -> None:
    if not isinstance(meta, Mapping) or meta.get("format") != expected:
        raise _foreign(path, expected)
    if type(meta["version"]) is not int or meta["version"] < 1:
        raise InvalidFile(f"{path} is damaged: its format version is {meta['version']!r}.")
    if meta["version"] > FORMAT_VERSION:
        raise InvalidFile(
            f"{path} has format version {meta['version']}; this qpopt reads up to "
            f"{FORMAT_VERSION}. Upgrade qpopt."
        )


def _unwritable(path: AnyPath, error: Exception) -> InvalidFile:
    return InvalidFile(f"Cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}.")


def _foreign(path: AnyPath, expected: str) -> InvalidFile:
    noun = expected.removeprefix("qpopt-")
    return InvalidFile(f"{path} is not a qpopt {noun}; pass a file that {noun}.save() wrote.")


@contextmanager
def _explained(path: AnyPath, expected: str) -> Iterator[None]:
    """Turn whatever a bad file makes Python raise into one InvalidFile that names the file.

    Parameters
    ----------
    path
        The file that is read in the block.
    expected
        The format that it should have.
    """
    try:
        yield
    except InvalidFile:
        raise
    except QpoptError as error:
        raise InvalidFile(f"{path} holds invalid data: {error}") from error
    except FileNotFoundError:
        raise InvalidFile(f"{path} does not exist.") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise _foreign(path, expected) from None
    except OSError as error:
        raise InvalidFile(f"Cannot read {path}: {error.strerror or error}.") from error
    except MemoryError as error:
        raise InvalidFile(f"{path} is damaged or too large for the memory here.") from error
    except (*DAMAGE, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidFile(
            f"{path} is truncated, damaged or not a qpopt file ({type(error).__name__})."
        ) from error
