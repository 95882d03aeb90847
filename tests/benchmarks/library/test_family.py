import shutil

import pytest

from benchmarks.library import family
from benchmarks.library.library import ROOT, Library


@pytest.fixture
def small_family(monkeypatch, tmp_path):
    """Cut the family down to its tiny members, one medium shape and no real ones."""
    tiny = [member for member in family.FAMILY if member[0] == "tiny"]
    medium = ("medium", family.Counts(16, 6, 5, 2), (0.1, 0.3))
    monkeypatch.setattr(family, "FAMILY", (*tiny, medium))
    monkeypatch.setattr(family, "DEMANDING", family.DEMANDING[:1])
    monkeypatch.setattr(family, "_real", lambda library: iter(()))
    return Library(tmp_path)


def test_the_committed_tiny_instances_are_those_of_the_family(small_family):
    committed = Library()
    added = {entry.name: entry for entry in family.build(small_family)}
    for entry in committed.select(["tiny", "demands"]):
        if entry.n_features < 24:
            assert added[entry.name].fingerprint == entry.fingerprint


def test_what_is_there_is_not_added_again(small_family):
    assert list(family.build(small_family))
    assert list(family.build(Library(small_family.root))) == []


def test_steps_of_density_are_met(small_family):
    densities = {e.name: e.density for e in family.build(small_family) if e.size == "medium"}
    assert densities["uniform-16x6-r10"] == pytest.approx(0.1, abs=0.02)
    assert densities["uniform-16x6-r30"] == pytest.approx(0.3, abs=0.02)


def test_medium_instances_have_no_file(small_family):
    entries = list(family.build(small_family))
    files = {path.stem for path in (small_family.root / "instances").rglob("*.npz")}
    assert files == {entry.name for entry in entries if entry.size in ("tiny", "demands")}


@pytest.mark.slow
def test_the_real_members_are_those_of_the_index(tmp_path, monkeypatch):
    monkeypatch.setattr(family, "FAMILY", ())
    shutil.copytree(ROOT / "data", tmp_path / "data")
    committed = Library()
    for entry in family.build(Library(tmp_path)):
        assert entry.fingerprint == committed.entry(entry.name).fingerprint
