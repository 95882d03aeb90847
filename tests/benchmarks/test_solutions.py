from benchmarks.real import real_instance
from benchmarks.search import SOLUTION
from qpopt import Solution, verify


def test_the_best_known_solution_solves_the_real_instance():
    assert str(verify(real_instance(), Solution.load(SOLUTION))) == "verified: no violation"
