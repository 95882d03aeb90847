"""The study of scale: passes, saving, several processes, reports, formats, and a simulation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rich.table import Table

from benchmarks.studies.scale import formats, pages, passes, ranks, resuming, simulation
from benchmarks.studies.scale.instances import made
from benchmarks.studies.scale.passes import Pass, Size
from benchmarks.studies.scale.resnet import resnet50
from qpopt_torch.statistics.accumulator import MOST_BYTES
from qpopt_torch.training.checkpoint import SHARE

SOLVE = 60.0
"""Seconds that `sparsify` gives a solve at most."""


class Plan(NamedTuple):
    """How large everything is.

    Parameters
    ----------
    samples
        Of the passes, one after the other.
    features, classes, batch
        Of all passes.
    mapped, binned
        Samples of the passes with feature maps, and with histograms.
    shared
        Samples that one and several processes divide.
    processes
        How many processes.
    reports
        Layout, classes, features, and pictures of every class.
    pictures
        Side and number of the pictures that the network sees.
    shrunk
        By how much its widths are divided.
    made
        Classes of the instance that is made.
    """

    samples: tuple[int, ...]
    features: int
    classes: int
    batch: int
    mapped: tuple[int, ...]
    binned: int
    shared: int
    processes: tuple[int, ...]
    reports: tuple[tuple[str, int, int, int], ...]
    pictures: tuple[int, int]
    shrunk: int
    made: int


WHOLE = Plan(
    samples=(20_018, 160_146, 1_281_167),
    features=2048,
    classes=1000,
    batch=256,
    mapped=(4_096, 16_384),
    binned=160_146,
    shared=131_072,
    processes=(1, 2, 4, 8),
    reports=(("file", 1000, 50, 4), ("folder", 1000, 50, 4), ("folder", 10_000, 50, 2)),
    pictures=(224, 8),
    shrunk=1,
    made=21_841,
)
QUICK = Plan(
    samples=(600, 1200),
    features=32,
    classes=10,
    batch=100,
    mapped=(200,),
    binned=400,
    shared=400,
    processes=(1, 2),
    reports=(("folder", 20, 12, 1),),
    pictures=(32, 2),
    shrunk=16,
    made=50,
)


def main(quick: bool, say: Callable[[Any], None]) -> None:
    """Measure one thing after the other and say every table as soon as it is there."""
    began, plan = time.perf_counter(), QUICK if quick else WHOLE
    size = Size(plan.shared, plan.features, plan.classes, plan.batch)
    say(_passes(plan, size))
    share = _saving(plan, size, say)
    say(_ranks(plan, size))
    written = _reports(plan, say)
    found = formats.ratios(plan.classes, *plan.pictures, shrunk=plan.shrunk, compiled=not quick)
    say(_formats(plan, found))
    instance = made(plan.features, plan.made)
    say(
        f"An instance of {plan.features} × {instance.classes} from its sums: "
        f"{instance.seconds:.1f} s, {instance.memory:.2f} GB at most."
    )
    forward = 1 / found.bare_step
    known = simulation.Measured(forward, found.collect, found.step, share, SOLVE, written)
    for data in (simulation.IMAGENET, simulation.IMAGENET_21K):
        say(_simulated(data, known))
    say(first_to_break(known))
    say(f"All this took {(time.perf_counter() - began) / 60:.1f} minutes.")


def _passes(plan: Plan, size: Size) -> Table:
    rows: list[tuple[str, Pass]] = []
    for samples in plan.samples:
        rows.append(("sums", passes.measured("sums", size._replace(samples=samples))))
    binned = passes.measured("sums", size._replace(samples=plan.binned), 64)
    rows.append(("sums and 64 bins", binned))
    for samples in plan.mapped:
        rows.append(
            ("sums and 7 × 7 maps", passes.measured("maps", size._replace(samples=samples)))
        )
    table = Table(
        *("what", "samples", "bare loop, ms", "collect, ms", "added, ms", "GB at most"),
        title=f"A pass over {plan.features} features × {plan.classes} classes, for each sample",
    )
    for what, row in rows:
        figures = f"{row.bare:.4f}", f"{row.collect:.4f}", f"{row.overhead:.4f}"
        table.add_row(what, f"{row.samples:,}", *figures, f"{row.memory:.2f}")
    return table


def _saving(plan: Plan, size: Size, say: Callable[[Any], None]) -> float:
    """Say what saving costs, and return the largest share of a training that it takes."""
    model = resnet50(plan.classes, plan.shrunk)
    kept = (
        resuming.pass_saving(size),
        resuming.training_saving(model, plan.pictures[0]),
    )
    table = Table(
        *("what", "MB", "save, s", "go on, s"),
        title=f"Saving {plan.features} features × {plan.classes} classes, and a ResNet50",
    )
    for row in kept:
        table.add_row(row.what, f"{row.bytes / 1e6:.1f}", f"{row.save:.2f}", f"{row.resume:.2f}")
    say(table)
    whole, ended, same = resuming.ended_pass(size)
    say(
        f"A pass over {size.samples:,} samples that saves every {resuming.EVERY} batches: "
        f"{whole:.1f} s; ended halfway and gone on with: {ended:.1f} s, "
        f"{'the same bits' if same else 'OTHER BITS'}."
    )
    return SHARE


def _ranks(plan: Plan, size: Size) -> Table:
    rows = ranks.together(size, plan.processes)
    table = Table(
        *("processes", "seconds", "of one", "largest |ΔA|"),
        title=f"{size.samples:,} samples by several processes of one thread each, on "
        f"{ranks.cores()} cores",
    )
    for row in rows:
        ratio = row.seconds / rows[0].seconds
        figures = f"{row.seconds:.2f}", f"{ratio:.2f}", f"{row.difference:.1e}"
        table.add_row(str(row.processes), *figures)
    return table


def _reports(plan: Plan, say: Callable[[Any], None]) -> float:
    """Say what reports are like; return the seconds to write one for every 1,000 classes."""
    found = [pages.written(*report) for report in plan.reports]
    table = Table(
        *("layout", "classes", "samples", "MB", "write, s", "open, s", "find a class, s"),
        title=f"Reports, pictures of {pages.SIDE} × {pages.SIDE}, in Chromium",
    )
    for page in found:
        waits = (_shown(page.opened), _shown(page.searched))
        table.add_row(
            *(page.layout, f"{page.classes:,}", f"{page.pictures:,}"),
            *(f"{page.megabytes:.1f}", f"{page.write:.1f}", *waits),
        )
    say(table)
    return max(1000 * page.write / page.classes for page in found)


def _formats(plan: Plan, found: formats.Ratios) -> Table:
    table = Table("what", "ratio", title="A network of the layers of ResNet50, on this machine")
    table.add_row("a forward pass, ms a sample", f"{1000 * found.forward:.1f}")
    table.add_row("a step of training / a forward pass", f"{found.bare_step:.2f}")
    table.add_row("collect / a forward pass", f"{found.collect:.3f}")
    table.add_row("a step of fine-tuning / a plain step", f"{found.step:.3f}")
    for name, ratio in found.formats.items():
        table.add_row(f"{name} / plain", "fails" if ratio is None else f"{ratio:.2f}")
    return table


def _simulated(data: simulation.Data, known: simulation.Measured) -> Table:
    table = Table(
        *("GPUs", "collect", "solve", "fine-tune", "report", "all", "alone"),
        title=f"Simulated: {data.name}, {data.samples:,} × {data.classes:,}, "
        f"{simulation.EPOCHS} epochs, in hours",
    )
    for gpus in simulation.GPUS:
        row = simulation.hours(data, gpus, known)
        share = f"{100 * simulation.alone_share(row):.0f} %"
        table.add_row(str(gpus), *(f"{value:.2f}" for value in (*row, row.total)), share)
    return table


def first_to_break(known: simulation.Measured) -> str:
    """Return the formula, what was put into it, and what breaks first."""
    large = simulation.histograms(simulation.IMAGENET_21K, WHOLE.features)
    small = simulation.histograms(simulation.IMAGENET, WHOLE.features)
    most = max(simulation.GPUS)
    few = simulation.hours(simulation.IMAGENET, most, known)
    formula = simulation.__doc__.splitlines()[2:4] if simulation.__doc__ else []
    published = ", ".join(f"v({p}) = {speed:,.0f}" for p, speed in simulation.PUBLISHED.items())
    return "\n".join(
        [
            *formula,
            f"Measured: φ = {known.forward:.3f}, κ = {known.collect:.3f}, τ = {known.step:.3f}, "
            f"σ = {known.saving:.2f}, S = {known.solve:.0f} s, W = {known.write:.1f} s. "
            f"Published: {published} samples a second.",
            f"First to break: histograms for AUROC, {small:.2f} GB for ImageNet-1k and "
            f"{large:.0f} GB for ImageNet-21k, refused above {MOST_BYTES / 1e9:.0f} GB. Then, on "
            f"{most} GPUs: loaders must give {simulation.speed(most):,.0f} samples a second, and "
            f"one process works alone for {100 * simulation.alone_share(few):.0f} % of the time.",
        ]
    )


def _shown(seconds: float | None) -> str:
    return "no browser" if seconds is None else f"{seconds:.2f}"
