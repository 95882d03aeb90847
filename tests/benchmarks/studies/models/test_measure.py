import numpy as np

from benchmarks.studies.models.measure import contrastive_pairs


def test_contrastive_pairs_by_hand():
    sets = np.zeros((4, 5))
    for c, members in enumerate([(0, 1, 2), (0, 1, 3), (0, 3, 4), (1, 2)]):
        sets[c, list(members)] = 1
    # 0 and 1 share two of three, 1 and 2 as well; 3 has all of class 0 but one.
    assert contrastive_pairs(sets) == 3
    # What speaks for one class and against the other is nothing in common.
    sets[1, 0] = -0.5
    assert contrastive_pairs(sets) == 1
