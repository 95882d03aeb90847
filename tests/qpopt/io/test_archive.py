import errno
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance, InvalidFile, Solution, generate
from qpopt.io import archive as files
from tests.strategies import instances


@given(instance=instances())
def test_instance_round_trip(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("instance") / "saved.npz"
    instance.save(path)
    loaded = Instance.load(path)
    assert loaded == instance
    assert loaded.provenance == instance.provenance
    for name in ("A", "R", "b"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(instance, name))


def test_names_and_provenance_survive(tmp_path, toy):
    named = Instance(
        toy.A,
        toy.R,
        toy.b,
        3,
        2,
        include=[1],
        exclude=[3],
        class_names=["Krähe", "<b>&"],
        feature_names=["a", "b", "c", "d"],
        name="named",
        provenance={"epsilon": np.float64(0.25), "clique": np.arange(3)},
    )
    named.save(tmp_path / "a file without extension")
    loaded = Instance.load(tmp_path / "a file without extension")
    assert loaded == named
    assert loaded.class_names == ("Krähe", "<b>&")
    assert loaded.feature_names == ("a", "b", "c", "d")
    assert loaded.name == "named"
    assert loaded.provenance == {"epsilon": 0.25, "clique": (0, 1, 2)}


@given(
    found=st.booleans(),
    bound=st.none() | st.floats(13, 100),
    seed=st.none() | st.integers(0, 2**63),
    trace=st.lists(st.tuples(st.floats(0, 9), st.none() | st.floats(0, 9), st.none())),
)
def test_solution_round_trip(tmp_path_factory, found, bound, seed, trace):
    path = tmp_path_factory.mktemp("solution") / "saved.json"
    arguments = ([1, 2, 3], [[1, 0, 1], [1, 1, 0]], 12.9) if found else (None, None, None)
    solution = Solution(
        *arguments,
        status="feasible" if found else "no_solution",
        bound=bound,
        method="search",
        solver="none",
        seconds=1.25,
        seed=seed,
        trace=trace,
        fingerprint="ab" * 32,
        details={"steps": 10},
    )
    solution.save(path)
    loaded = Solution.load(path)
    assert loaded == solution


def test_every_truncation_is_an_error(tmp_path, toy, toy_best):
    for thing, suffix in ((toy, "npz"), (toy_best, "json")):
        path = tmp_path / f"whole.{suffix}"
        thing.save(path)
        content = path.read_bytes()
        for length in range(0, len(content), 37):
            path.write_bytes(content[:length])
            with pytest.raises(InvalidFile, match="whole"):
                type(thing).load(path)


def test_damaged_bytes_never_give_another_instance(tmp_path, toy):
    path = tmp_path / "damaged.npz"
    toy.save(path)
    content = bytearray(path.read_bytes())
    for position in range(0, len(content), 11):
        damaged = content.copy()
        damaged[position] ^= 0x5A
        path.write_bytes(damaged)
        try:
            loaded = Instance.load(path)
        except InvalidFile:
            continue
        assert loaded == toy


@pytest.mark.parametrize("kind", [Instance, Solution])
def test_foreign_files(tmp_path, toy, kind):
    arrays = tmp_path / "arrays.npz"
    np.savez(arrays, A=toy.A)
    pickled = tmp_path / "pickled.npy"
    np.save(pickled, np.array([object()]), allow_pickle=True)
    text = tmp_path / "list.json"
    text.write_text("[1, 2]")
    for path in (arrays, pickled, text):
        with pytest.raises(InvalidFile, match="is not a qpopt"):
            kind.load(path)
    with pytest.raises(InvalidFile, match="does not exist"):
        kind.load(tmp_path / "missing")
    with pytest.raises(InvalidFile, match="Cannot read"):
        kind.load(tmp_path)


def test_newer_format_version(tmp_path, toy, toy_best, monkeypatch):
    monkeypatch.setattr(files, "FORMAT_VERSION", 99)
    toy.save(tmp_path / "i.npz")
    toy_best.save(tmp_path / "s.json")
    monkeypatch.undo()
    for kind, name in ((Instance, "i.npz"), (Solution, "s.json")):
        with pytest.raises(InvalidFile, match=r"format version 99.*Upgrade"):
            kind.load(tmp_path / name)


def test_solution_with_a_class_that_uses_an_unselected_feature(tmp_path, toy_best):
    path = tmp_path / "s.json"
    toy_best.save(path)
    record = json.loads(path.read_text())
    record["class_sets"][0] = [0, 1]
    path.write_text(json.dumps(record))
    with pytest.raises(InvalidFile, match="damaged"):
        Solution.load(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("selection", [1.9, 2, 3]),
        ("selection", ["1", "2", "3"]),
        ("selection", [True, 2, 3]),
        ("selection", [10**30, 2, 3]),
        ("selection", 5),
        ("class_sets", [[1, 3, 3], [1, 2]]),
        ("class_sets", None),
        ("objective", "x"),
        ("objective", None),
        ("bound", []),
        ("fingerprint", None),
        ("status", "perfect"),
        ("seconds", None),
        ("trace", [[1]]),
        ("details", 5),
        ("version", -1),
        ("version", True),
    ],
)
def test_solution_file_with_a_wrong_value(tmp_path, toy_best, field, value):
    path = tmp_path / "s.json"
    toy_best.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(InvalidFile, match=r"s\.json"):
        Solution.load(path)


def test_deeply_nested_json(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)
    with pytest.raises(InvalidFile):
        Solution.load(path)


def test_content_that_does_not_match_the_fingerprint(tmp_path, toy):
    path = tmp_path / "i.npz"
    toy.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **{**arrays, "A": arrays["A"] + 1})
    with pytest.raises(InvalidFile, match="fingerprint"):
        Instance.load(path)
    np.savez(path, **{**arrays, "b": np.zeros(300_000)})
    with pytest.raises(InvalidFile, match="do not fit together"):
        Instance.load(path)


def test_every_bit_of_a_small_file(tmp_path, toy):
    path = tmp_path / "flipped.npz"
    toy.save(path)
    content = path.read_bytes()
    for position in range(len(content) - 400, len(content)):  # the directory of the archive
        for bit in range(8):
            flipped = bytearray(content)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            try:
                assert Instance.load(path) == toy
            except InvalidFile:
                continue


@pytest.mark.parametrize("name", ["", ".", "a\0b", "file/x.npz", "n" * 300])
def test_paths_that_cannot_be_written(tmp_path, monkeypatch, toy, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFile, match="Cannot write"):
        toy.save(name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path, toy, toy_best):
    old, link = tmp_path / "i.npz", tmp_path / "old.npz"
    toy.save(old)
    old.chmod(0o600)
    os.link(old, link)
    before = link.read_bytes()
    pointer = tmp_path / "pointer"
    pointer.symlink_to(old)
    toy_best.save(pointer)
    assert link.read_bytes() == before
    assert pointer.is_symlink()
    assert Solution.load(old) == toy_best
    assert old.stat().st_mode & 0o777 == 0o600
    toy.save(tmp_path / ("n" * 250))


def test_a_full_disk_loses_nothing(tmp_path, toy, toy_best, monkeypatch):
    path = tmp_path / "kept.npz"
    toy.save(path)
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for thing in (toy, toy_best):
        with pytest.raises(InvalidFile, match="No space left"):
            thing.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept.npz"]


def test_an_interrupted_save_leaves_no_trace(tmp_path):
    def interrupted():
        with files.replacing(tmp_path / "x") as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_redundant_instance_is_stored_once_per_pair(tmp_path):
    instance = generate(512, 20, 20, 5, structure="uniform", epsilon=None)
    path = tmp_path / "dense.npz"
    instance.save(path)
    pairs, _ = instance.redundant_pairs()
    plain = 8 * (instance.A.size + instance.b.size + len(pairs))
    assert path.stat().st_size < 1.1 * plain + 512 * 512 // 16
