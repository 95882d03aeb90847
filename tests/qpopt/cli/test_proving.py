from dataclasses import replace

from qpopt import Solution, generate, solve
from tests.qpopt.cli.command_line import run


def test_verify(capsys, tmp_path, toy, toy_best):
    toy.save(tmp_path / "i.npz")
    toy_best.save(tmp_path / "good.json")
    replace(toy_best, objective=13.5, bound=13.5).save(tmp_path / "bad.json")
    code, out, _ = run(capsys, "verify", tmp_path / "i.npz", tmp_path / "good.json")
    assert (code, "no violation" in out, "12.9" in out) == (0, True, True)
    assert "the bound 12.9 is only claimed" in out
    code, out, _ = run(capsys, "verify", tmp_path / "i.npz", tmp_path / "bad.json")
    assert (code, "objective" in out) == (1, True)


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


def test_a_certificate_supports_what_is_saved_beside_it(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    instance = generate(24, 8, 6, 2, seed=3)
    instance.save("i.npz")
    solution = solve(instance, method="compact", solver="highs", time_limit=3)
    replace(solution, bound=solution.objective + 1e-3, status="feasible").save("s.json")
    saved = ("--out", "c.json", "--certificate", "c.npz")
    assert run(capsys, "certify", "i.npz", "s.json", "--time-limit", 2, *saved)[0] == 0
    assert run(capsys, "verify", "i.npz", "c.json", "--certificate", "c.npz")[0] == 0
    other = ("certify", "i.npz", "s.json", "--kind", "cliques", "--certificate", "c.npz")
    code, _, err = run(capsys, *other)
    assert (code, "kind cliques has no certificate" in err) == (2, True)


def test_an_optimum_is_verified_by_the_certificate_of_its_proof(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generate(24, 8, 8, 3, structure="uniform").save("i.npz")
    plain = ("solve", "i.npz", "--out", "s.json", "--option", "enumerate=false")
    quick = ("--option", "search_seconds=0", "--option", 'params={"linear": [0, 0]}')
    assert run(capsys, *plain, *quick, "--option", "certificate=c.npz")[0] == 0
    code, out, _ = run(capsys, "verify", "i.npz", "s.json", "--certificate", "c.npz")
    assert (code, "is proven by the certificate" in out) == (0, True)
    handed = ("--option", "certificate=h.npz", "--option", "hand_over=true")
    assert run(capsys, *plain, *quick, *handed)[0] == 0
    code, out, _ = run(capsys, "verify", "i.npz", "s.json", "--certificate", "h.npz")
    assert (code, "rests on HiGHS" in out, "is proven" in out) == (0, True, False)
