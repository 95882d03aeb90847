"""What a disagreement leaves: a folder with all that is needed to see it again."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from qpopt.errors import InvalidFile
from qpopt.io.atomic import replacing
from qpopt.selfcheck.cases import Case
from qpopt.selfcheck.judging import DISAGREED, Verdict, judge
from qpopt.selfcheck.pairs import Job, Pair
from qpopt.selfcheck.watching import (
    CASE_SECONDS,
    MEMORY_LIMIT,
    Watched,
    solving,
)

SCRIPT = '''"""{title}.

{fault}: {message}

Run again, it does the same and says what came of it; the exit code is 1 as long as that disagrees.
`instance.npz` is the instance, `optimum.json` a proven optimal solution of it; `solution.json` is
what came out, `answers.json` what the solver itself said, and `log.txt` what the process printed.
"""

import sys
from pathlib import Path

from qpopt.selfcheck.keeping import repeat

if __name__ == "__main__":
    sys.exit(
        repeat(
            Path(__file__).parent,
            method={method!r},
            solver={solver!r},
            exact={exact!r},
            options={options!r},
            certified={certified!r},
            seed={seed!r},
        )
    )
'''


def keep(out: Path, job: Job, stem: Path, verdict: Verdict, seed: int) -> Path:
    """Keep a disagreement in a folder of its own below `out`, and return that.

    Raises
    ------
    InvalidFile
        If that cannot be written.
    """
    pair, case = job.pair, job.case
    title = f"{pair.label} on {case.name}"
    kept = out / title.replace(",", "").replace(" ", "-")
    try:
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(case.instance_file, kept / "instance.npz")
        shutil.copyfile(case.best_file, kept / "optimum.json")
        left = {
            "solution.json": f"{stem}.solution.json",
            "certificate.npz": f"{stem}.certificate.npz",
            "answers.json": f"{stem}.answer.json",
            "log.txt": f"{stem.parent}/log.txt",
        }
        for name, origin in left.items():
            (kept / name).unlink(missing_ok=True)
            if Path(origin).exists():
                shutil.copyfile(origin, kept / name)
    except OSError as error:
        raise InvalidFile(f"Cannot keep {title} in {str(kept)!r}: {error.strerror}.") from error
    script = SCRIPT.format(
        title=title,
        fault=verdict.fault,
        # It stands in a docstring.
        message=verdict.message.replace("\\", "/").replace('"', "'"),
        method=pair.method,
        solver=pair.solver,
        exact=pair.exact,
        options=dict(pair.options),
        certified=pair.certified,
        seed=seed,
    )
    with replacing(kept / "repeat.py") as stream:
        stream.write(script.encode())
    return kept


def repeat(
    folder: Path,
    *,
    method: str,
    solver: str,
    exact: bool,
    options: dict[str, int],
    certified: bool,
    seed: int,
) -> int:
    """Do again what a folder keeps, say what came of it, and return 1 if it disagrees, else 0."""
    pair = Pair(method, solver, exact, options, certified)
    job = Job(pair, Case("case", folder / "instance.npz", folder / "optimum.json"))
    with TemporaryDirectory(prefix="qpopt-selfcheck-") as name:
        watched = Watched(Path(name), solving([job], CASE_SECONDS, seed), MEMORY_LIMIT)
        watched.wait()
        verdict = judge(job, Path(name, "0"), watched.finding)
        log = watched.log
    if log:
        print(log)
    print(f"{pair.label}: {verdict.outcome}")
    if verdict.fault:
        print(f"{verdict.fault}: {verdict.message}")
    return int(verdict.outcome == DISAGREED)
