"""A process that looks at parts for another one: `python -m qpopt.proofs.parallel.child`.

It gets the instance, then one task after the other, and ends with the pipe it reads from.
"""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from qpopt.control.blas import one_blas_thread
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.control.processes import end_with_parent
from qpopt.problem.instance import Instance
from qpopt.proofs.node import Node
from qpopt.proofs.parallel.messages import Answer, Task, receive, send
from qpopt.proofs.tree import Tree


def look_at(instance: Instance, task: Task) -> Answer:
    """Look at the part of a task, and tell what is left of it."""
    limits = Limits(task.seconds, gap=0.0, threads=1)
    incumbent = Incumbent(instance, limits, objective=task.objective)
    tree = Tree(incumbent, [Node(instance, *task.part, task.start)], task.most_selections)
    if tree.open:
        tree.step(lambda: incumbent.clock.over)
    left = [(node.part, node.start) for node in tree.open]
    return Answer(left, incumbent.best, tree.most_selections)


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer the tasks that come from a pipe until it ends."""
    try:
        instance = receive(source)
        while True:
            send(target, look_at(instance, receive(source)))
    except (EOFError, BrokenPipeError):
        return


def main() -> None:
    """Serve the process that started this one."""
    end_with_parent()
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever is printed must not end up between the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with one_blas_thread():
        serve(sys.stdin.buffer, target)


if __name__ == "__main__":
    main()
