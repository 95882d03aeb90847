import pytest

from qpopt import Instance, generate
from tests.qpopt.cli.command_line import run


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


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e99])
def test_info_at_any_scale(capsys, tmp_path, toy, scale):
    path = tmp_path / "i.npz"
    for A in (toy.A * scale, 1 + toy.A * 2.2e-16):
        Instance(A, toy.R, toy.b, 3, 2).save(path)
        assert run(capsys, "info", path)[0] == 0


def test_export(capsys, tmp_path, toy):
    toy.save(tmp_path / "i.npz")
    code, out, _ = run(capsys, "export", tmp_path / "i.npz", tmp_path / "model.lp")
    assert (code, "saved to" in out) == (0, True)
    assert (tmp_path / "model.lp").read_text()
    code, _, err = run(capsys, "export", tmp_path / "i.npz", tmp_path / "model.xyz")
    assert (code, len(err.splitlines())) == (2, 1)
