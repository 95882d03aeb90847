from benchmarks.studies.many_classes import end_to_end
from qpopt import generate, solve


def test_every_step_is_measured_and_the_result_is_that_of_a_search():
    run = end_to_end(64, 30, 0.2)
    assert [cost.step for cost in run.costs] == [
        "generate",
        "save the instance",
        "load it",
        "search",
        "save the solution",
        "load it",
        "verify",
    ]
    assert run.ok
    assert run.steps_a_second > 0
    memory = [cost.memory for cost in run.costs]
    assert memory == sorted(memory)
    worst = solve(generate(64, 30, 50, 5), method="search", options={"step_limit": 0})
    assert run.objective >= worst.objective
