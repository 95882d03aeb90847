"""What was measured: one row for every run, in a file that only grows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.runs.rows import append_text, complete_text, mend

ROWS = "models.jsonl"


@dataclass(frozen=True)
class Result:
    """The figures of one model.

    Parameters
    ----------
    data, method, seed
        What was run.
    judged_by
        `test`, or `validation` where training samples were held out.
    recipe
        All settings, as text.
    figures
        Values in percent by the names of metrics, and counts.
    minutes
        Of CPU time.
    commit, finished
        Circumstances.
    """

    data: str
    method: str
    seed: int
    judged_by: str
    recipe: str
    figures: Mapping[str, float | None]
    minutes: float
    commit: str
    finished: str

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """What was run; of two results with the same key the last one counts."""
        return self.data, self.method, self.seed, self.judged_by, self.recipe


class ResultFile:
    """The results of a folder.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ROWS

    def append(self, result: Result) -> None:
        """Write a result to the end, in one piece."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        mend(self.path)
        append_text(self.path, json.dumps(asdict(result), sort_keys=True) + "\n")

    def read(self) -> list[Result]:
        """Return all results that are complete, the last one of each run.

        Raises
        ------
        BenchmarkError
            If a line is something else.
        """
        found: dict[tuple[str, str, int, str, str], Result] = {}
        for number, line in enumerate(complete_text(self.path).splitlines(), 1):
            try:
                result = Result(**json.loads(line))
            except (TypeError, ValueError) as error:
                raise BenchmarkError(f"{self.path}, line {number}: {error}.") from None
            found.pop(result.key, None)
            found[result.key] = result
        return list(found.values())
