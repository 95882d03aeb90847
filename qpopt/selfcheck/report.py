"""The outcome of a selfcheck: a line a pair, as values for JSON and as a JUnit file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree

from qpopt.io.archive import with_header
from qpopt.io.atomic import AnyPath, replacing
from qpopt.selfcheck.judging import AGREED, DISAGREED, NOT_RUN, REFUSED, UNPROVEN, Verdict
from qpopt.selfcheck.pairs import Pair

OUTCOMES = (AGREED, UNPROVEN, REFUSED, DISAGREED, NOT_RUN)


@dataclass(frozen=True)
class PairResult:
    """What came of one pair of method and solver.

    Parameters
    ----------
    pair
        The pair.
    verdicts
        A verdict for every case.
    """

    pair: Pair
    verdicts: tuple[Verdict, ...]

    def count(self, outcome: str) -> int:
        """Return how many cases ended so."""
        return sum(verdict.outcome == outcome for verdict in self.verdicts)

    @property
    def instances(self) -> int:
        """How many cases were begun."""
        return len(self.verdicts) - self.count(NOT_RUN)

    @property
    def seconds(self) -> float:
        """What all solves took together."""
        return sum(verdict.seconds for verdict in self.verdicts)

    @property
    def worst_deviation(self) -> float | None:
        """How far the worst solution lies below its optimum, relative to that."""
        known = [one.deviation for one in self.verdicts if one.deviation is not None]
        return max(known, key=abs, default=None)

    @property
    def faults(self) -> list[str]:
        """What went wrong, each named once."""
        return sorted({verdict.fault for verdict in self.verdicts if verdict.fault})


@dataclass(frozen=True)
class Report:
    """The outcome of a selfcheck.

    Parameters
    ----------
    results
        A result for every pair.
    machine
        Versions, BLAS and processor.
    seed, minutes, seconds
        The seed, the time that was given and the time that it took.
    interrupted
        Whether it was stopped by Ctrl-C.
    """

    results: tuple[PairResult, ...]
    machine: Mapping[str, Any]
    seed: int
    minutes: float
    seconds: float
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is no disagreement, and at least one agreement."""
        agreed = any(result.count(AGREED) for result in self.results)
        return agreed and not any(result.count(DISAGREED) for result in self.results)

    def disagreements(self) -> list[str]:
        """Return a sentence on everything that disagrees, and where it is kept."""
        return [
            f"{result.pair.label} on {one.case}: {one.fault}: {one.message}"
            + (f" To see it again: python {one.kept}/repeat.py" if one.kept else "")
            for result in self.results
            for one in result.verdicts
            if one.outcome == DISAGREED
        ]

    def circumstances(self) -> list[str]:
        """Return in a few lines what was checked, and on what."""
        versions = {**self.machine["packages"], **self.machine.get("solvers", {})}
        blas = ", ".join(self.machine["blas"]) or "unknown"
        agreed = sum(result.count(AGREED) for result in self.results)
        return [
            f"{'agreed' if self.ok else 'NOT agreed'}: {agreed} answers of {len(self.results)} "
            f"pairs in {self.seconds:.0f} s, seed {self.seed}",
            f"{self.machine['python']}, {self.machine['system']}",
            ", ".join(f"{name} {version}".rstrip() for name, version in versions.items()),
            f"BLAS: {blas}; {self.machine['processor']}, {self.machine['cores']} cores",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        pairs = [
            {
                "pair": result.pair.label,
                "method": result.pair.method,
                "solver": result.pair.solver,
                "instances": result.instances,
                **{outcome.replace(" ", "_"): result.count(outcome) for outcome in OUTCOMES},
                "seconds": result.seconds,
                "worst_deviation": result.worst_deviation,
                "faults": result.faults,
                "verdicts": [asdict(verdict) for verdict in result.verdicts],
            }
            for result in self.results
        ]
        values = {
            "ok": self.ok,
            "interrupted": self.interrupted,
            "seed": self.seed,
            "minutes": self.minutes,
            "seconds": self.seconds,
            "machine": self.machine,
            "pairs": pairs,
        }
        return with_header("selfcheck", values)

    def save_junit(self, path: AnyPath) -> None:
        """Write the report in the format that CI services read: a suite a pair, a test a case."""
        root = ElementTree.Element("testsuites", name="qpopt selfcheck", time=f"{self.seconds:.3f}")
        for result in self.results:
            suite = ElementTree.SubElement(
                root,
                "testsuite",
                name=result.pair.label,
                tests=str(len(result.verdicts)),
                failures=str(result.count(DISAGREED)),
                errors="0",
                skipped=str(result.count(REFUSED) + result.count(NOT_RUN)),
                time=f"{result.seconds:.3f}",
            )
            for verdict in result.verdicts:
                _add_test(suite, result.pair.label, verdict)
        ElementTree.indent(root)
        with replacing(path) as stream:
            stream.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _add_test(suite: ElementTree.Element, label: str, verdict: Verdict) -> None:
    test = ElementTree.SubElement(
        suite,
        "testcase",
        classname=label,
        name=verdict.case,
        time=f"{verdict.seconds:.3f}",
    )
    if verdict.outcome == DISAGREED:
        told = ElementTree.SubElement(test, "failure", type=verdict.fault, message=verdict.message)
        told.text = f"{verdict.fault}: {verdict.message}\n{verdict.kept}".rstrip()
    elif verdict.outcome in (REFUSED, NOT_RUN):
        ElementTree.SubElement(test, "skipped", message=verdict.message or verdict.outcome)
    elif verdict.outcome == UNPROVEN:
        ElementTree.SubElement(test, "system-out").text = "right, but not proven in time"
