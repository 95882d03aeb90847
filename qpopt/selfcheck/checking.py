"""selfcheck: every pair of method and solver on the bundled instances, as many as fit the time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from qpopt.errors import InvalidArgument, MissingSolver, QpoptError, SolverFailure
from qpopt.problem import validation
from qpopt.selfcheck.cases import Case, bundled
from qpopt.selfcheck.judging import DISAGREED, NOT_RUN, Verdict, judge
from qpopt.selfcheck.keeping import keep
from qpopt.selfcheck.machine import machine
from qpopt.selfcheck.pairs import Pair
from qpopt.selfcheck.report import PairResult, Report
from qpopt.selfcheck.watching import (
    CASE_SECONDS,
    MEMORY_LIMIT,
    POLL_SECONDS,
    Watched,
    listing,
    solving,
)

JOBS = 2
"""Processes at a time: what the smallest machines of CI services have cores for."""
OUT = "qpopt-selfcheck"
"""The folder for disagreements where no other is named."""

OnResult = Callable[[PairResult], None]


def selfcheck(
    methods: Sequence[str] = (),
    solvers: Sequence[str] = (),
    instances: Sequence[str] = (),
    *,
    minutes: float = 1.0,
    seed: int = 0,
    out: Path = Path(OUT),
    memory_limit: float = MEMORY_LIMIT,
    on_result: OnResult | None = None,
) -> Report:
    """Solve the bundled instances with every pair, and compare with the proven optima.

    Parameters
    ----------
    methods, solvers, instances
        Names; all that can be used here where there are none.
    minutes
        How long to go on. Compiling comes before; it is done once an installation. Every pair has
        at least one instance begun, the most telling one.
    seed
        Handed to every solve.
    out
        Where disagreements are kept, each in a folder of its own.
    memory_limit
        Megabytes that a process may use.
    on_result
        Called with the result of every pair when it is there.

    Returns
    -------
    Report
        What came of every pair; after Ctrl-C of those that had ended.

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
        run = _Run(Path(name), cases, seed, out, memory_limit, on_result)
        interrupted, about = False, machine()
        try:
            pairs, about["solvers"] = run.usable(methods, solvers)
            run.check(pairs, 60 * minutes)
        except KeyboardInterrupt:
            interrupted = True
        seconds = time.monotonic() - began
        return Report(run.in_order(), about, seed, minutes, seconds, interrupted)


class _Run:
    """One selfcheck: what is running, and what has come of it."""

    def __init__(
        self,
        folder: Path,
        cases: Sequence[Case],
        seed: int,
        out: Path,
        memory_limit: float,
        on_result: OnResult | None,
    ) -> None:
        self.folder, self.cases, self.seed, self.out = folder, cases, seed, out
        self.memory_limit, self.on_result = memory_limit, on_result
        self.pairs: list[Pair] = []
        self.results: dict[str, PairResult] = {}

    def usable(
        self, methods: Sequence[str], solvers: Sequence[str]
    ) -> tuple[list[Pair], dict[str, str]]:
        """Return the pairs that can be used here, and the versions of their solvers."""
        folder = self._folder("pairs")
        smallest = bundled()[0]
        watched = Watched(folder, listing(smallest, methods, solvers), 0.0, self.memory_limit)
        try:
            while not watched.over():
                time.sleep(POLL_SECONDS)
        finally:
            watched.end()
        if watched.finding is not None:
            raise SolverFailure(
                f"The methods and solvers here cannot even be listed: {watched.finding.message} "
                f"{watched.log}"
            )
        told = json.loads((folder / "pairs.json").read_text(encoding="utf-8"))
        if "error" in told:
            kind: type[QpoptError] = MissingSolver if told["missing"] else InvalidArgument
            raise kind(told["error"])
        return [Pair(**record) for record in told["pairs"]], told["solvers"]

    def check(self, pairs: Sequence[Pair], seconds: float) -> None:
        """Check all pairs, some at a time, each with its share of the time that is left."""
        self.pairs = list(pairs)
        until = time.monotonic() + seconds
        waiting = list(pairs)
        running: list[tuple[Pair, Watched]] = []
        try:
            while waiting or running:
                while waiting and len(running) < JOBS:
                    share = max(0.0, until - time.monotonic()) * JOBS
                    share /= len(waiting) + len(running)
                    pair = waiting.pop(0)
                    task = solving(pair, self.cases, share, self.seed)
                    folder = self._folder(str(len(waiting)))
                    watched = Watched(folder, task, CASE_SECONDS, self.memory_limit)
                    running.append((pair, watched))
                for pair, watched in list(running):
                    if watched.over():
                        running.remove((pair, watched))
                        self._take(pair, watched)
                time.sleep(POLL_SECONDS)
        finally:
            for _, watched in running:
                watched.end()

    def in_order(self) -> tuple[PairResult, ...]:
        """Return the results in the order of the pairs."""
        known = (self.results.get(pair.label) for pair in self.pairs)
        return tuple(result for result in known if result is not None)

    def _take(self, pair: Pair, watched: Watched) -> None:
        """Judge what a process has left of its cases."""
        verdicts = []
        for case in self.cases:
            broken = watched.finding if case.name == watched.case else None
            if broken is None and case.name not in watched.ended:
                verdicts.append(Verdict(case.name, NOT_RUN))
                continue
            verdict = judge(case, pair, watched.folder, broken)
            if verdict.outcome == DISAGREED:
                kept = keep(self.out, case, pair, watched.folder, verdict, self.seed)
                verdict = replace(verdict, kept=str(kept))
            verdicts.append(verdict)
        if watched.finding is not None and not watched.case:
            # It broke down before or between its cases, so the first that is left stands for it.
            first = next((i for i, one in enumerate(verdicts) if one.outcome == NOT_RUN), 0)
            fault, message = watched.finding
            message = f"{message} {watched.log}".strip()
            verdicts[first] = Verdict(
                self.cases[first].name, DISAGREED, fault=str(fault), message=message
            )
        result = self.results[pair.label] = PairResult(pair, tuple(verdicts))
        if self.on_result is not None:
            self.on_result(result)

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        return folder
