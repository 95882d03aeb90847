from dataclasses import fields
from pathlib import Path

import pytest

from qpopt import InvalidArgument, InvalidFile, generate, solve
from qpopt.methods import find_method, method_names
from qpopt.methods.search import SearchOptions

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
        "scheduler": "localhost",
        "params": 3,
    },
    "search": {"step_limit": -1, "target": float("nan"), "patience": -1.0},
}
CASES = [(method, name, value) for method in WRONG for name, value in WRONG[method].items()]


@pytest.mark.parametrize(("method", "name", "value"), CASES)
def test_every_method_refuses_wrong_values_before_any_work(method, name, value):
    def never(event):
        raise AssertionError("the work began")

    with pytest.raises(InvalidArgument, match=f"^{name} must be .*, not {value!r}\\.$"):
        solve(generate(6, 2, 3, 2), method=method, options={name: value}, progress=never)


def test_every_option_has_been_tried_and_says_what_it_means():
    for name in method_names():
        options = {one.name: one for one in fields(find_method(name).options)}
        assert set(options) == set(WRONG[name])
        for one in options.values():
            assert one.metadata["meaning"].endswith(".")


def test_an_unknown_option_is_refused_with_the_known_ones():
    message = "no option 'c' for this method; known are step_limit, target, patience"
    with pytest.raises(InvalidArgument, match=message):
        SearchOptions.of({"c": 1})
    with pytest.raises(InvalidArgument, match="options must be a SearchOptions or a mapping"):
        SearchOptions.of([("step_limit", 1)])


def test_options_are_an_object_or_a_mapping():
    instance = generate(60, 20, 8, 3, seed=2)
    one = solve(instance, method="search", options=SearchOptions(step_limit=40))
    other = solve(instance, method="search", options={"step_limit": 40, "target": None})
    assert one.details["steps"] == other.details["steps"] == 40
    assert one.class_sets() == other.class_sets()


def test_a_certificate_must_be_writable(tmp_path: Path):
    options = {"certificate": tmp_path / "no" / "such" / "folder" / "proof.npz"}
    with pytest.raises(InvalidFile, match="Cannot write"):
        solve(generate(6, 2, 3, 2), options=options)


def test_a_certificate_and_a_checkpoint_are_two_files(tmp_path: Path):
    options = {"certificate": tmp_path / "proof.npz", "checkpoint": str(tmp_path / "proof.npz")}
    with pytest.raises(InvalidArgument, match="the same file"):
        solve(generate(6, 2, 3, 2), options=options)
