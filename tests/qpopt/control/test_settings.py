from pathlib import Path

import pytest

from qpopt import InvalidArgument, InvalidFile, generate, solve
from qpopt.control.settings import OPTIONS, Settings
from qpopt.methods import find_method

WRONG = {
    "compact": {"objective": 1, "callbacks": "no", "search_steps": 2.5},
    "qcqp": {"search_steps": "many"},
    "paper": {"max_rounds": 0, "round_time_limit": "long", "objective": "cubic"},
    "projected": {
        "search_seconds": "long",
        "enumerate": 1,
        "hand_over": 0,
        "certificate": 3,
        "checkpoint": 0,
    },
    "search": {"step_limit": -1, "target": float("nan")},
}
CASES = [(method, name, value) for method in WRONG for name, value in WRONG[method].items()]


@pytest.mark.parametrize(("method", "name", "value"), CASES)
def test_every_method_refuses_wrong_values_before_any_work(method, name, value):
    def never(point, note):
        raise AssertionError("the work began")

    with pytest.raises(InvalidArgument, match=f"^{name} must be .*, not {value!r}\\.$"):
        solve(generate(6, 2, 3, 2), method=method, options={name: value}, progress=never)


def test_every_option_has_been_tried():
    assert {name for _, name, _ in CASES} == set(OPTIONS)


def test_an_unknown_option_is_refused_with_the_known_ones():
    with pytest.raises(InvalidArgument, match="no option 'c' for this method; known are a, b"):
        Settings(options={"c": 1}).check_options("a", "b")


def test_none_stands_for_the_default():
    settings = Settings(options={"target": None})
    settings.check_options("target")
    assert settings.option("target", 3.0) == 3.0
    assert settings.option("step_limit", 4) == 4


def test_a_certificate_must_be_writable(tmp_path: Path):
    options = {"certificate": tmp_path / "no" / "such" / "folder" / "proof.npz"}
    with pytest.raises(InvalidFile, match="Cannot write"):
        find_method("projected").run(generate(6, 2, 3, 2), None, Settings(options=options))
