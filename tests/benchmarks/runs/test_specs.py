import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.runs.specs import NO_SOLVER, configurations, plan


def test_a_key_names_the_run_and_changes_with_everything(make_spec):
    spec = make_spec()
    assert spec.key == make_spec().key
    assert spec.key.startswith("toy-compact-fine-s0-")
    changes = {
        "fingerprint": "other",
        "method": "paper",
        "solver": "scip",
        "seed": 1,
        "threads": 2,
        "time_limit": 31.0,
        "gap": 0.0,
        "memory_limit": 1.0,
    }
    keys = {make_spec(**{name: value}).key for name, value in changes.items()}
    assert len(keys | {spec.key}) == len(changes) + 1


def test_the_plan_has_every_combination_once(library):
    configs = [("compact", "highs"), ("compact", "scip")]
    specs = plan(
        library.select(["tiny"]),
        configs,
        warm=False,
        seeds=3,
        threads=1,
        time_limit=5.0,
        gap=0.0,
        memory_limit=1000.0,
    )
    assert {(spec.method, spec.solver, spec.seed) for spec in specs} == {
        (method, solver, seed) for method, solver in configs for seed in range(3)
    }
    assert len(specs) == 6
    assert {spec.fingerprint for spec in specs} == {library.entry("toy").fingerprint}


def test_solvers_that_cannot_take_the_model_are_left_out():
    assert configurations(["compact", "qcqp"], ["highs", "scip"]) == [
        ("compact", "highs"),
        ("compact", "scip"),
        ("qcqp", "scip"),
    ]
    with pytest.raises(BenchmarkError, match="None of these methods"):
        configurations(["qcqp"], ["highs"])


def test_all_means_everything_that_can_be_used_here():
    found = configurations(["all"], ["all"])
    assert ("compact", "highs") in found
    assert len(found) == len(set(found))


def test_names_that_nobody_knows_are_named():
    with pytest.raises(BenchmarkError, match="no method called 'magic'"):
        configurations(["magic"], ["highs"])
    with pytest.raises(BenchmarkError, match="no solver called 'cplexx'"):
        configurations(["compact"], ["cplexx"])


def test_a_method_without_a_solver_is_compared_by_its_name(make_spec):
    assert make_spec(method="search", solver=NO_SOLVER).config == "search"
    assert make_spec().config == "compact + fine"


def test_solvers_are_on_their_own_unless_they_are_to_start_warm(library):
    configs = [("compact", "highs"), ("projected", "none"), ("paper", "highs")]
    limits = {"seeds": 1, "threads": 1, "time_limit": 5.0, "gap": 0.0, "memory_limit": 1000.0}
    cold, warm = (
        {spec.method: spec for spec in plan(library.select(["tiny"]), configs, warm=warm, **limits)}
        for warm in (False, True)
    )
    assert cold["compact"].options == {"search_steps": 0}
    assert warm["compact"].options == {}
    assert (cold["compact"].config, warm["compact"].config) == (
        "compact + highs",
        "compact + highs, warm",
    )
    assert cold["projected"] == warm["projected"]
    assert cold["projected"].options == {}


def test_only_methods_that_give_certificates_are_certified(library):
    configs = [("compact", "highs"), ("projected", NO_SOLVER)]
    limits = {"seeds": 1, "threads": 1, "time_limit": 1.0, "gap": 1e-4, "memory_limit": 1e3}
    specs = plan(library.select(["tiny"]), configs, warm=False, certified=True, **limits)
    assert [spec.config for spec in specs] == ["compact + highs", "projected, certified"]
    plain = plan(library.select(["tiny"]), configs, warm=False, **limits)
    assert [a.key == b.key for a, b in zip(specs, plain, strict=True)] == [True, False]
