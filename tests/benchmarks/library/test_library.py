import json

import numpy as np
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.library.family import DEMANDING_REAL
from benchmarks.library.library import Library
from qpopt import Instance, generate, verify
from tests.brute_force import brute_force

COMMITTED = Library()


@pytest.mark.parametrize(
    "entry", COMMITTED.select(["tiny", "small", "medium"]), ids=lambda e: e.name
)
def test_best_known_solutions_verify_and_the_index_has_their_figures(entry):
    instance = COMMITTED.instance(entry.name)
    best = COMMITTED.best(entry.name)
    verification = verify(instance, best)
    assert verification.ok, str(verification)
    assert entry.objective == pytest.approx(verification.objective, rel=1e-12)
    assert (best.objective, best.bound) == (entry.objective, entry.bound)
    counts = (instance.n_classes, instance.n_features, instance.n_select, instance.n_per_class)
    assert counts == (entry.n_classes, entry.n_features, entry.n_select, entry.n_per_class)
    n_pairs = instance.n_features * (instance.n_features - 1) / 2
    assert entry.density == pytest.approx(np.count_nonzero(np.triu(instance.R)) / n_pairs, abs=1e-4)


@pytest.mark.parametrize("name", ["cub-50-5", "imagenet-50-5"])
def test_best_known_solutions_of_large_instances_verify(name):
    assert verify(COMMITTED.instance(name), COMMITTED.best(name))


@pytest.mark.slow
@pytest.mark.parametrize("entry", COMMITTED.select(["large"]), ids=lambda e: e.name)
def test_best_known_solutions_of_all_large_instances_verify(entry):
    best = COMMITTED.best(entry.name)
    assert verify(COMMITTED.instance(entry.name), best)
    assert (best.objective, best.bound) == (entry.objective, entry.bound)


def test_tiny_and_small_are_solved():
    assert {entry.status for entry in COMMITTED.select(["tiny", "small", "demands"])} == {"solved"}


@pytest.mark.parametrize("structure", ["attributes", "clustered", "planted", "uniform"])
def test_tiny_optima_are_those_of_brute_force(structure):
    entry = COMMITTED.entry(f"{structure}-12x6")
    best = brute_force(COMMITTED.instance(entry.name))
    assert best.objective == pytest.approx(entry.objective, rel=1e-12)


@pytest.mark.parametrize("entry", COMMITTED.select(["tiny", "small"]), ids=lambda e: e.name)
def test_committed_files_are_what_their_arguments_generate(entry):
    made = generate(**entry.source["generate"])
    assert made.fingerprint == entry.fingerprint
    assert COMMITTED.instance(entry.name) == made
    assert made.hint == made.provenance.get("clique", ())


def test_large_instances_start_from_the_clique_that_decided_their_epsilon():
    cliques = {
        entry.name: entry.source["arguments"]["hint"]
        for entry in COMMITTED.select(["large"])
        if "hint" in entry.source["arguments"]
    }
    real = {f"cub-{m}-{k}" for m in (20, 50, 100) for k in (3, 5, 10)}
    demanding = {f"cub-50-5-{kind}" for kind in DEMANDING_REAL}
    assert cliques.keys() == real | demanding | {"imagenet-50-5"}
    instance = COMMITTED.instance("cub-50-5")
    assert instance.hint == tuple(cliques["cub-50-5"])
    assert len(instance.hint) == instance.n_select
    assert not instance.R[np.ix_(instance.hint, instance.hint)].any()


def test_the_library_has_every_size_and_steps_of_density():
    sizes = {entry.size for entry in COMMITTED.entries.values()}
    assert sizes == {"tiny", "small", "medium", "large", "demands"}
    real = {(e.n_select, e.n_per_class) for e in COMMITTED.entries.values() if "cub" in e.name}
    assert real == {(m, k) for m in (20, 50, 100) for k in (3, 5, 10)}
    plain = {"cub-50-5", *(f"cub-50-5-r{share}" for share in ("05", "35", "50"))}
    steps = sorted(e.density for e in COMMITTED.entries.values() if e.name in plain)
    assert len(steps) == 4
    assert steps[-1] - steps[0] > 0.4


def test_no_solution_lies_beside_the_index():
    files = {path.stem for path in (COMMITTED.root / "solutions").glob("*.json")}
    assert files == {e.name for e in COMMITTED.entries.values() if e.objective is not None}


def test_the_index_survives_reading_and_writing(library):
    again = Library(library.root)
    assert again.entries == library.entries
    text = library.index.read_text()
    again.put(again.entry("toy"))
    assert library.index.read_text() == text


def test_another_instance_under_the_same_name_is_noticed(library, toy):
    other = Instance(toy.A + 1.0, toy.R, toy.b, 3, 2)
    other.save(library.root / "instances" / "tiny" / "toy.npz")
    with pytest.raises(BenchmarkError, match=r"toy has the fingerprint .* but the index says"):
        library.instance("toy")


def test_unknown_names_and_sizes_are_named(library):
    with pytest.raises(BenchmarkError, match="no instance 'tooy'"):
        library.entry("tooy")
    with pytest.raises(BenchmarkError, match="no suite 'huge'"):
        library.select(["huge"])


def test_selecting_by_size_and_by_name(library):
    assert [entry.name for entry in library.select(["tiny"])] == ["toy"]
    assert [entry.name for entry in library.select([], ["toy"])] == ["toy"]
    assert library.select(["small"]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class": "giant"}, "its class is 'giant'"),
        ({"status": "open"}, "its figures make it solved"),
        ({"source": {"kind": "dream"}}, "of the kind 'dream'"),
        ({"source": {"kind": "generate"}}, "is incomplete"),
        ({"source": {"kind": "data", "path": "x.npz", "arguments": {}}}, "does not exist"),
        ({"extra": 1}, "bad entry 'toy'"),
    ],
)
def test_bad_entries_are_named(library, change, message):
    content = json.loads(library.index.read_text())
    content["instances"][0] |= change
    library.index.write_text(json.dumps(content))
    with pytest.raises(BenchmarkError, match=message):
        Library(library.root).instance("toy")


@pytest.mark.parametrize("text", ["", "[]", '{"format": "other", "version": 1, "instances": []}'])
def test_a_file_that_is_no_index_is_refused(library, text):
    library.index.write_text(text)
    with pytest.raises(BenchmarkError, match=r"index\.json is no index"):
        Library(library.root)
