from pathlib import Path

import pytest

from qpopt import Instance, InvalidArgument
from qpopt.cli.options import check_outputs
from tests.qpopt.cli.command_line import run


def test_files_of_options_replace_nothing(capsys, tmp_path, monkeypatch, toy):
    monkeypatch.chdir(tmp_path)
    toy.save("i.npz")
    before = Path("i.npz").read_bytes()
    twice = "every result needs a file of its own."
    for options, message in (
        (["--option", "certificate=i.npz"], "i.npz is the instance itself; save under another"),
        (["--option", "checkpoint=x", "--out", "x"], f"x is named twice; {twice}"),
        (["--option", "checkpoint=x", "--option", "certificate=./x"], f"x is named twice; {twice}"),
    ):
        code, _, error = run(capsys, "solve", "i.npz", *options)
        assert (code, message in error) == (2, True)
    assert Path("i.npz").read_bytes() == before
    for _ in range(2):
        assert run(capsys, "solve", "i.npz", "--option", "checkpoint=proof.npz")[0] == 0


def test_where_to_save_is_checked_before_the_work(capsys, tmp_path, monkeypatch, toy, toy_best):
    monkeypatch.chdir(tmp_path)
    toy.save("i.npz")
    toy_best.save("s.json")

    def never(*_, **__):
        raise AssertionError("the work began")

    for name in ("solving.solve_instance", "proving.certify_solution", "proving.prove_bound"):
        monkeypatch.setattr(f"qpopt.cli.{name}", never)
    for path in ("no/such/folder/x", "."):
        for command in (
            ("solve", "i.npz", "--out", path),
            ("certify", "i.npz", "s.json", "--out", path),
            ("certify", "i.npz", "s.json", "--certificate", path),
            ("bound", "i.npz", "--certificate", path),
        ):
            code, _, err = run(capsys, *command)
            assert (code, "Cannot write" in err) == (2, True)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["i.npz", "s.json"]


def test_the_instance_is_never_overwritten(capsys, tmp_path, toy):
    path = tmp_path / "i.npz"
    toy.save(path)
    code, _, err = run(capsys, "solve", path, "--out", path)
    assert (code, "is the instance itself" in err) == (2, True)
    assert Instance.load(path) == toy


def test_a_link_that_leads_in_a_circle_is_a_name_like_others(tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    check_outputs(tmp_path / "instance.npz", tmp_path / "circle")
    with pytest.raises(InvalidArgument, match="named twice"):
        check_outputs(tmp_path / "instance.npz", tmp_path / "circle", tmp_path / "circle")
