"""What a process makes of a part, without the process."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings

from qpopt.problem.subproblem import Part
from qpopt.proofs.node import Node
from qpopt.proofs.parallel.child import look_at, serve
from qpopt.proofs.parallel.messages import Answer, Task, receive, send
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value


@settings(max_examples=25)
@given(awkward_instances(max_features=7))
def test_what_is_left_and_what_was_found_hold_everything_better(instance):
    """Two rounds of tasks through a pipe: parts, their iterates and solutions come back whole."""
    best = brute_force(instance).objective
    known = best - 0.5 * max(1.0, abs(best))
    node = Node(instance, np.arange(instance.n_features), np.zeros(0, dtype=np.int64))
    todo, found = [(node.part, node.start)], known
    for _ in range(2):
        source, target = BytesIO(), BytesIO()
        send(source, instance)
        for part, start in todo:
            send(source, Task(part, start, known, None, 0))
        source.seek(0)
        serve(source, target)
        target.seek(0)
        answers = [receive(target) for _ in todo]
        todo = [one for answer in answers for one in answer.left]
        for answer in answers:
            if answer.best is not None:
                found = max(found, instance.objective(*answer.best).total)
    slack = 1e-9 * max(1.0, abs(best))
    for selection in all_selections(instance):
        z = value(instance, selection, best_class_sets(instance, selection))
        inside = [
            part
            for part, _ in todo
            if set(part.included) <= set(selection) <= {*part.included, *part.free}
        ]
        assert len(inside) <= 1
        if z > found + slack:
            assert len(inside) == 1
            assert inside[0].bound >= z - slack


def test_a_part_with_nothing_better_leaves_nothing(toy):
    everything = np.arange(toy.n_features)
    part = Part(everything, everything[:0], np.inf)
    answer = look_at(toy, Task(part, None, 1e6, None, 0))
    assert answer == Answer([], None, 0)


def test_half_a_message_is_the_end():
    pipe = BytesIO()
    send(pipe, "something")
    with pytest.raises(EOFError):
        receive(BytesIO(pipe.getvalue()[:-1]))
