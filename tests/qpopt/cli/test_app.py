import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from qpopt import Instance, Solution, __version__, generate, solve
from qpopt.cli.app import main


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"qpopt {__version__}\n", "")


def test_installed_command():
    code = "import sys; from qpopt.cli.app import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "info"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "qpopt: Missing argument 'FILE'.\n"


def test_generate(capsys, tmp_path):
    path = tmp_path / "i.npz"
    options = ("--n-features", 30, "--n-classes", 6, "--n-select", 8, "--n-per-class", 3)
    code, out, _ = run(capsys, "generate", path, *options, "--structure", "planted", "--seed", 3)
    assert code == 0
    assert "saved to" in out
    assert Instance.load(path) == generate(30, 6, 8, 3, structure="planted", seed=3)


def test_info(capsys, tmp_path):
    path = tmp_path / "i.npz"
    instance = generate(30, 6, 8, 3)
    instance.save(path)
    code, out, _ = run(capsys, "info", path)
    assert code == 0
    pairs = len(instance.redundant_pairs()[1])
    expected = (f"{pairs} of 435", f"{instance.provenance['epsilon']:.6g}", "attributes", "█")
    for part in expected:
        assert part in out


def test_verify(capsys, tmp_path, toy, toy_best):
    toy.save(tmp_path / "i.npz")
    toy_best.save(tmp_path / "good.json")
    replace(toy_best, objective=13.5, bound=13.5).save(tmp_path / "bad.json")
    code, out, _ = run(capsys, "verify", tmp_path / "i.npz", tmp_path / "good.json")
    assert (code, "no violation" in out, "12.9" in out) == (0, True, True)
    assert "the bound 12.9 is only claimed" in out
    code, out, _ = run(capsys, "verify", tmp_path / "i.npz", tmp_path / "bad.json")
    assert (code, "objective" in out) == (1, True)


def test_names_are_not_markup(capsys, tmp_path, toy, toy_best):
    odd = Instance(toy.A, toy.R, toy.b, 3, 2, name="[/red] :smile:", provenance={"epsilon": "abc"})
    path = tmp_path / "[red]i.npz"
    odd.save(path)
    code, out, _ = run(capsys, "info", path)
    assert (code, "[/red] :smile:" in out) == (0, True)
    replace(toy_best, fingerprint="[/red]xx").save(tmp_path / "s.json")
    code, out, _ = run(capsys, "verify", path, tmp_path / "s.json")
    assert (code, "[/red]xx" in out) == (1, True)


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e99])
def test_info_at_any_scale(capsys, tmp_path, toy, scale):
    path = tmp_path / "i.npz"
    for A in (toy.A * scale, 1 + toy.A * 2.2e-16):
        Instance(A, toy.R, toy.b, 3, 2).save(path)
        assert run(capsys, "info", path)[0] == 0


def test_terminal_without_unicode(tmp_path):
    path = tmp_path / "i.npz"
    generate(30, 6, 8, 3).save(path)
    code = "import sys; from qpopt.cli.app import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "info", str(path)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_solve_and_solvers(capsys, tmp_path, toy, toy_best):
    path, out_path = tmp_path / "i.npz", tmp_path / "s.json"
    toy.save(path)
    options = ("--solver", "highs", "--out", out_path, "--classes")
    code, out, _ = run(capsys, "solve", path, *options)
    assert code == 0
    for part in ("optimal", "12.900000", "crow", "1 3", "saved to"):
        assert part in out
    solution = Solution.load(out_path)
    assert solution.class_sets() == toy_best.class_sets()
    code, out, _ = run(capsys, "solve", path, "--solver", "highs", "--start", out_path, "--json")
    assert json.loads(out)["objective"] == pytest.approx(12.9)
    code, out, _ = run(capsys, "methods")
    assert code == 0
    assert "search_seconds" in out
    assert "patience" in out
    code, out, _ = run(capsys, "solvers")
    assert (code, "highs" in out) == (0, True)


def test_options_of_a_method(capsys, tmp_path, toy):
    path = tmp_path / "i.npz"
    toy.save(path)
    given = ("solve", path, "--method", "search", "--json", "--option")
    code, out, _ = run(capsys, *given, "step_limit=0")
    assert (code, json.loads(out)["details"]["steps"]) == (0, 0)
    for option, message in (
        ("target=high", "target must be a finite number, not 'high'."),
        ("step_limit=2.5", "step_limit must be a whole number of at least 0, not 2.5."),
        (
            "steps=1",
            "There is no option 'steps' for this method; known are step_limit, target, patience.",
        ),
        ("target", "--option takes NAME=VALUE, not 'target'."),
    ):
        assert run(capsys, *given, option) == (2, "", f"qpopt: {message}\n")
    code, _, _ = run(capsys, "solve", path, "--option", f"certificate={tmp_path / 'proof.npz'}")
    assert (code, (tmp_path / "proof.npz").exists()) == (0, True)


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


def test_certify_and_verify_the_certificate(capsys, tmp_path, toy, toy_best):
    paths = {name: tmp_path / name for name in ("i.npz", "s.json", "c.npz", "out.json")}
    toy.save(paths["i.npz"])
    replace(toy_best, status="feasible", bound=None).save(paths["s.json"])
    options = ("--time-limit", 5, "--out", paths["out.json"], "--certificate", paths["c.npz"])
    code, _, _ = run(capsys, "certify", paths["i.npz"], paths["s.json"], *options)
    assert code == 0
    certified = Solution.load(paths["out.json"])
    assert certified.bound >= 12.9
    check = ("verify", paths["i.npz"], paths["out.json"], "--certificate", paths["c.npz"])
    code, out, _ = run(capsys, *check)
    assert (code, "no violation" in out) == (0, True)
    assert "is proven by the certificate" in out
    worse = toy.objective([0, 2, 3], [[1, 0, 1], [0, 1, 1]]).total
    poor = Solution([0, 2, 3], [[1, 0, 1], [0, 1, 1]], worse, fingerprint=toy.fingerprint)
    poor.save(paths["s.json"])
    code, out, _ = run(capsys, "verify", paths["i.npz"], paths["s.json"], *check[-2:])
    assert (code, "certificate" in out) == (1, True)
    assert run(capsys, "bound", paths["i.npz"], "--time-limit", 2, "--kind", "thresholds")[0] == 0


def test_where_to_save_is_checked_before_the_work(capsys, tmp_path, monkeypatch, toy, toy_best):
    monkeypatch.chdir(tmp_path)
    toy.save("i.npz")
    toy_best.save("s.json")

    def never(*_, **__):
        raise AssertionError("the work began")

    for name in ("solve_instance", "certify_solution", "prove_bound"):
        monkeypatch.setattr(f"qpopt.cli.app.{name}", never)
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


def test_a_certificate_supports_what_is_saved_beside_it(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    instance = generate(24, 8, 6, 2, seed=3)
    instance.save("i.npz")
    solution = solve(instance, method="compact", solver="highs", time_limit=3)
    replace(solution, bound=solution.objective + 1e-3, status="feasible").save("s.json")
    saved = ("--out", "c.json", "--certificate", "c.npz")
    assert run(capsys, "certify", "i.npz", "s.json", "--time-limit", 2, *saved)[0] == 0
    assert run(capsys, "verify", "i.npz", "c.json", "--certificate", "c.npz")[0] == 0
    other = ("certify", "i.npz", "s.json", "--kind", "thresholds", "--certificate", "c.npz")
    code, _, err = run(capsys, *other)
    assert (code, "Only a bound of the kind semidefinite" in err) == (2, True)


def test_an_interrupted_solve_keeps_what_it_has(capsys, tmp_path, monkeypatch, toy, toy_best):
    monkeypatch.chdir(tmp_path)
    toy.save("i.npz")
    stopped = replace(toy_best, status="interrupted")
    monkeypatch.setattr("qpopt.cli.app.solve_instance", lambda *_, **__: stopped)
    assert run(capsys, "solve", "i.npz", "--out", "s.json")[0] == 130
    assert Solution.load("s.json") == stopped
    nothing = Solution(None, None, None, status="interrupted")
    monkeypatch.setattr("qpopt.cli.app.solve_instance", lambda *_, **__: nothing)
    assert run(capsys, "solve", "i.npz", "--out", "s.json")[0] == 130
    assert Solution.load("s.json") == stopped


def test_the_instance_is_never_overwritten(capsys, tmp_path, toy):
    path = tmp_path / "i.npz"
    toy.save(path)
    code, _, err = run(capsys, "solve", path, "--out", path)
    assert (code, "is the instance itself" in err) == (2, True)
    assert Instance.load(path) == toy


def test_export(capsys, tmp_path, toy):
    toy.save(tmp_path / "i.npz")
    code, out, _ = run(capsys, "export", tmp_path / "i.npz", tmp_path / "model.lp")
    assert (code, "saved to" in out) == (0, True)
    assert (tmp_path / "model.lp").read_text()
    code, _, err = run(capsys, "export", tmp_path / "i.npz", tmp_path / "model.xyz")
    assert (code, len(err.splitlines())) == (2, 1)


def test_an_interruption_is_one_line(capsys, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("qpopt.cli.app.generate_instance", interrupted)
    assert run(capsys, "generate", tmp_path / "x.npz") == (130, "", "qpopt: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "missing.npz"], "missing.npz does not exist"),
        (["verify", "missing.npz", "x.json"], "missing.npz does not exist"),
        (["generate", "x.npz", "--n-features", "3"], "n_select is 20"),
        (["generate", "x.npz", "--n-features", "many"], "--n-features"),
        (["generate", "x.npz", "--structure", "odd"], "structure must be one of"),
        (["generate", "no/such/folder/x.npz"], "Cannot write"),
        (["frobnicate"], "frobnicate"),
        (["generate", "."], "Cannot write"),
        (["solve", "missing.npz"], "missing.npz does not exist"),
    ],
)
def test_bad_use_is_one_line_and_code_2(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
