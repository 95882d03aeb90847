"""The simulation on tasks whose schedule can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies.scaling import Recorder, Task, longest_chain, simulate
from qpopt import generate
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.problem.subproblem import Part, subproblem
from qpopt.proofs.distributed.cluster_tree import ClusterTree, Slices
from tests.brute_force import brute_force

TASKS = [
    Task(None, 9.0, 2.0),  # leaves over the next three
    Task(0, 8.0, 4.0),
    Task(0, 7.0, 1.0),
    Task(0, 6.0, 1.0),
    Task(2, 5.0, 3.0),
]


def test_one_worker_does_all_and_many_wait_for_the_longest_chain():
    assert simulate(TASKS, 1, 0.0) == 11.0
    # 2 s for the first; then one has 4 s, the other 1 + 1 + 3 s.
    assert simulate(TASKS, 2, 0.0) == 7.0
    # With a third, the chain of 2, 1 and 3 s and that of 2 and 4 s end together.
    assert simulate(TASKS, 3, 0.0) == 6.0
    assert simulate(TASKS, 512, 0.0) == longest_chain(TASKS, 0.0) == 6.0


def test_every_part_costs_its_overhead():
    assert simulate(TASKS, 1, 0.5) == 11.0 + 5 * 0.5
    assert longest_chain(TASKS, 0.5) == 7.5
    assert simulate([], 8, 0.5) == longest_chain([], 0.5) == 0.0


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_no_schedule_breaks_its_bounds(workers):
    taken = simulate(TASKS, workers, 0.1)
    work, chain = 11.5, longest_chain(TASKS, 0.1)
    assert max(work / workers, chain) - 1e-12 <= taken <= chain + (work - chain) / workers + 1e-12


def test_the_recorded_parts_are_a_whole_proof():
    instance = generate(12, 6, 4, 2, seed=2)
    whole = subproblem(instance)
    incumbent = Incumbent(instance, Limits(None, gap=0.0))
    incumbent.judge(np.arange(4))
    recorder = Recorder()
    first = Part(whole.free, whole.included, 1e9)
    tree = ClusterTree(incumbent, [first], 0, recorder, Slices(0.01, 0.01))
    tree.run(lambda: False)
    assert incumbent.proven
    assert incumbent.objective == pytest.approx(brute_force(instance).objective)
    tasks = recorder.tasks
    assert tasks[0].parent is None
    assert all(0 <= task.parent < number for number, task in enumerate(tasks) if number)
    assert all(task.bound >= incumbent.objective - 1e-9 for task in tasks)
    assert longest_chain(tasks, 0.0) <= sum(task.seconds for task in tasks)
