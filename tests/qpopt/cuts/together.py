"""What several classes gain, by trying everything and by the matrix of a group."""

from __future__ import annotations

import numpy as np

from qpopt import Instance
from qpopt.cuts.groups import Groups
from qpopt.cuts.split_thresholds import class_columns
from tests.brute_force import best_class_sets


def gain(instance, selection, classes):
    few = Instance(
        instance.A[list(classes)], instance.R, instance.b, instance.n_select, instance.n_per_class
    )
    sets = best_class_sets(few, selection)
    return sum(few.A[c, list(members)].sum() for c, members in enumerate(sets))


def matrix(sub, group):
    groups = Groups(sub, class_columns(sub), [group])
    result = np.zeros((sub.n_free, sub.n_free))
    groups.add_to(result)
    return result
