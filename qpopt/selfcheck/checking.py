"""selfcheck: every pair of method and solver on the bundled instances, as many as fit the time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qpopt.errors import InvalidArgument, MissingSolver, QpoptError, SolverFailure
from qpopt.problem import validation
from qpopt.selfcheck.cases import Case, bundled
from qpopt.selfcheck.faults import Finding
from qpopt.selfcheck.judging import DISAGREED, NOT_RUN, Verdict, judge
from qpopt.selfcheck.keeping import keep
from qpopt.selfcheck.machine import machine
from qpopt.selfcheck.pairs import Job, Pair
from qpopt.selfcheck.report import PairResult, Report
from qpopt.selfcheck.watching import (
    MEMORY_LIMIT,
    POLL_SECONDS,
    Watched,
    listing,
    solving,
)

JOBS = 2
"""Processes at a time: what the smallest machines of CI services have cores for."""
COMPILING = 0.5
"""The share of the time that is left for solving, however long compiling takes."""
OUT = "qpopt-selfcheck"
"""The folder for disagreements where no other is named."""

OnVerdict = Callable[[Pair, Verdict], None]


def selfcheck(
    methods: Sequence[str] = (),
    solvers: Sequence[str] = (),
    instances: Sequence[str] = (),
    *,
    minutes: float = 1.0,
    seed: int = 0,
    out: Path = Path(OUT),
    memory_limit: float = MEMORY_LIMIT,
    on_verdict: OnVerdict | None = None,
) -> Report:
    """Solve the bundled instances with every pair, and compare with the proven optima.

    Parameters
    ----------
    methods, solvers, instances
        Names; all that can be used here where there are none.
    minutes
        How long to go on. Compiling, which is done once an installation, counts, but for no more
        than half of it. Of every pair at least one instance is solved, the most telling one.
    seed
        Handed to every solve.
    out
        Where disagreements are kept, each in a folder of its own.
    memory_limit
        Megabytes that a process may use.
    on_verdict
        Called with every verdict when it is there, and the pair that it is on.

    Returns
    -------
    Report
        What came of every pair; after Ctrl-C, of what had ended.

    Raises
    ------
    InvalidArgument, MissingSolver
        If a name is unknown, a solver that is named cannot be used, or no pair is left.
    SolverFailure
        If a package breaks down as soon as it is loaded.
    """
    validation.number("minutes", minutes, least=0.0)
    validation.whole_number("seed", seed)
    cases = bundled(instances)
    with TemporaryDirectory(prefix="qpopt-selfcheck-") as name:
        began = time.monotonic()
        run = _Run(Path(name), cases, seed, out, memory_limit, on_verdict)
        interrupted, about = False, machine()
        try:
            pairs, about["solvers"] = run.usable(methods, solvers)
            left = 60 * minutes - (time.monotonic() - began)
            run.check(pairs, max(left, COMPILING * 60 * minutes))
        except KeyboardInterrupt:
            interrupted = True
        seconds = time.monotonic() - began
        return Report(run.results(), about, seed, minutes, seconds, interrupted)


class _Run:
    """One selfcheck: what is running, and what has come of it."""

    def __init__(
        self,
        folder: Path,
        cases: Sequence[Case],
        seed: int,
        out: Path,
        memory_limit: float,
        on_verdict: OnVerdict | None,
    ) -> None:
        self.folder, self.cases, self.seed, self.out = folder, cases, seed, out
        self.memory_limit, self.on_verdict = memory_limit, on_verdict
        self.pairs: list[Pair] = []
        self.verdicts: dict[Job, Verdict] = {}
        self._folders = 0

    def usable(
        self, methods: Sequence[str], solvers: Sequence[str]
    ) -> tuple[list[Pair], dict[str, str]]:
        """Return the pairs that can be used here, and the versions of their solvers."""
        smallest = bundled()[0]
        watched = self._start(listing(smallest, methods, solvers))
        watched.wait()
        if watched.finding is not None:
            raise SolverFailure(
                f"The methods and solvers here cannot even be listed: {watched.finding.message} "
                f"{watched.log}"
            )
        told = json.loads((watched.folder / "pairs.json").read_text(encoding="utf-8"))
        if "error" in told:
            kind: type[QpoptError] = MissingSolver if told["missing"] else InvalidArgument
            raise kind(told["error"])
        return [Pair(**record) for record in told["pairs"]], told["solvers"]

    def check(self, pairs: Sequence[Pair], seconds: float) -> None:
        """Do all jobs, those of a solver in a process, each with its share of the time left."""
        self.pairs = list(pairs)
        until = time.monotonic() + seconds
        waiting = [
            [Job(pair, case) for case in self.cases for pair in pairs if pair.solver == solver]
            for solver in dict.fromkeys(pair.solver for pair in pairs)
        ]
        running: list[tuple[list[Job], Watched]] = []
        try:
            while waiting or running:
                while waiting and len(running) < JOBS:
                    left = max(0.0, until - time.monotonic())
                    n_jobs = sum(map(len, waiting)) + sum(len(jobs) for jobs, _ in running)
                    jobs = waiting.pop(0)
                    task = solving(jobs, left * JOBS * len(jobs) / n_jobs, self.seed)
                    running.append((jobs, self._start(task)))
                for jobs, watched in list(running):
                    over = watched.over()
                    self._take(jobs, watched)
                    if over:
                        running.remove((jobs, watched))
                        if watched.finding is not None:
                            waiting.insert(0, self._go_on(jobs, watched, watched.finding))
                waiting = [jobs for jobs in waiting if jobs]
                time.sleep(POLL_SECONDS)
        finally:
            for _, watched in running:
                watched.end()

    def results(self) -> tuple[PairResult, ...]:
        """Return what came of every pair."""
        return tuple(
            PairResult(
                pair,
                tuple(
                    self.verdicts.get(Job(pair, case), Verdict(case.name, NOT_RUN))
                    for case in self.cases
                ),
            )
            for pair in self.pairs
        )

    def _take(self, jobs: Sequence[Job], watched: Watched) -> None:
        """Judge what a process has ended since the last look."""
        for number in watched.ended:
            if jobs[number] not in self.verdicts:
                stem = watched.folder / str(number)
                self._note(jobs[number], judge(jobs[number], stem), stem)

    def _go_on(self, jobs: Sequence[Job], watched: Watched, finding: Finding) -> list[Job]:
        """Blame the job in which a process broke down; return what is left without its pair."""
        left = [job for job in jobs if job not in self.verdicts]
        if watched.job is None:
            # It was between two jobs, or before all of them. What is next stands for it.
            blamed = left[0]
            number = jobs.index(blamed)
            finding = Finding(finding.fault, f"{finding.message} {watched.log}".strip())
        else:
            blamed, number = jobs[watched.job], watched.job
        stem = watched.folder / str(number)
        self._note(blamed, judge(blamed, stem, finding), stem)
        return [job for job in left if job.pair != blamed.pair]

    def _note(self, job: Job, verdict: Verdict, stem: Path) -> None:
        """Note a verdict, keep what it is on where that disagrees, and tell of it."""
        if verdict.outcome == DISAGREED:
            verdict = replace(verdict, kept=str(keep(self.out, job, stem, verdict, self.seed)))
        self.verdicts[job] = verdict
        if self.on_verdict is not None:
            self.on_verdict(job.pair, verdict)

    def _start(self, task: Mapping[str, Any]) -> Watched:
        """Start a process with a folder of its own."""
        self._folders += 1
        folder = self.folder / str(self._folders)
        folder.mkdir()
        return Watched(folder, task, self.memory_limit)
