"""Files: written whole or not at all, and read with errors that name them."""

from qpopt.io.archive import opened_archive, opened_json, save_archive, save_json
from qpopt.io.atomic import AnyPath, check_writable, replacing

__all__ = [
    "AnyPath",
    "check_writable",
    "opened_archive",
    "opened_json",
    "replacing",
    "save_archive",
    "save_json",
]
