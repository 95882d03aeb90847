"""The methods: each makes a sparse classifier of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.studies.models.task import Task
from qpopt import Solution
from qpopt_torch import SparseClassifier
from qpopt_torch.baselines.chance import chance_assignment, chance_selection
from qpopt_torch.baselines.glm_saga import glm_saga as fit_glm_saga
from qpopt_torch.baselines.q_senn import q_senn as fit_q_senn
from qpopt_torch.baselines.sldd import sldd as fit_sldd


def optimised(task: Task) -> SparseClassifier:
    """Return the model of the best selection and assignment."""
    file = task.own / "solution.json"
    if not file.exists():
        task.solved().save(file)
    return task.tuned(Solution.load(file), "optimised")


def best_assignment(task: Task) -> SparseClassifier:
    """Return the model of random features with the best assignment."""
    return task.tuned(chance_selection(task.instance, task.seed), "best-assignment")


def chance(task: Task) -> SparseClassifier:
    """Return the model of random features and a random assignment."""
    return task.tuned(chance_assignment(task.instance, task.seed), "random-assignment")


def glm_saga(task: Task) -> SparseClassifier:
    """Return the dense network with a sparse last layer; nothing else is trained."""
    return fit_glm_saga(
        task.dense, task.plain, n_per_class=task.recipe.n_per_class, **_shared(task)
    )


def sldd(task: Task) -> SparseClassifier:
    """Return the model of greedily chosen features with real weights."""
    return fit_sldd(task.dense, task.train, **_trained(task), **_shared(task))


def q_senn(task: Task) -> SparseClassifier:
    """Return the model of the same features with weights of one size, fitted in rounds."""
    return fit_q_senn(task.dense, task.train, **_trained(task), **_shared(task))


METHODS: Mapping[str, Callable[[Task], SparseClassifier]] = {
    "optimised": optimised,
    "random selection with best assignment": best_assignment,
    "random assignment": chance,
    "glm-saga": glm_saga,
    "SLDD": sldd,
    "Q-SENN": q_senn,
}
"""By their names in tables; a further one is one function and one line."""


def _shared(task: Task) -> dict[str, Any]:
    return {"head": task.head, "seed": task.seed, "progress": False}


def _trained(task: Task) -> dict[str, Any]:
    return {
        "n_select": task.recipe.n_select,
        "n_per_class": task.recipe.n_per_class,
        "statistics_loader": task.plain,
        "training": task.training,
    }
