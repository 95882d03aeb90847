import json
import threading

import pytest

from qpopt import InvalidFile
from qpopt_torch.errors import ModelError
from qpopt_torch.studio.session import FILE, STATES, Session
from qpopt_torch.studio.state import Accuracy, State, difference
from tests.qpopt_torch.studio.conftest import instance

SETS = ((0, 2), (2, 3), (0, 3), (3, 2))
FIRST = State(0, "The model", (), 6, 2, (0, 2, 3), SETS, 10.0, 12.0, "opened")
EXCLUDE = {"kind": "exclude", "feature": 7}


@pytest.fixture(scope="module")
def base():
    return instance()


def test_everything_is_on_disk_at_once(base, tmp_path):
    session = Session(base, FIRST, tmp_path)
    session.add(EXCLUDE)
    session.add({"kind": "bias", "value": 2})
    session.add({"kind": "bias", "value": 3})  # in place of the 2
    state = session.begin()
    session.update(state.number, selection=(1, 2), sets=((1,), (2,), (1,), (2,)), objective=5.0)
    session.call(state.number, " without   seven ")
    # The same folder again, as after a process that ended at this moment.
    again = Session(base, FIRST, tmp_path)
    assert again.demands == session.demands
    assert [one.to_dict() for one in again.demands] == [EXCLUDE, {"kind": "bias", "value": 3}]
    kept = again.state(state.number)
    assert (kept.name, kept.selection, kept.ended) == ("without seven", (1, 2), "interrupted")
    assert again.current == state.number
    again.undo()
    assert again.demands[1].value == 2
    again.undo()
    again.undo()
    assert again.demands == ()
    with pytest.raises(ModelError, match="nothing to undo"):
        again.undo()


def test_going_back_brings_the_demands_and_can_be_undone(base, tmp_path):
    session = Session(base, FIRST, tmp_path)
    session.add(EXCLUDE)
    session.begin()
    session.back(0)
    assert (session.current, session.demands) == (0, ())
    session.undo()
    assert session.demands[0].to_dict() == EXCLUDE


def test_senseless_wishes_change_nothing(base, tmp_path):
    session = Session(base, FIRST, tmp_path)
    session.add(EXCLUDE)
    before = session.snapshot()
    for wish in (
        lambda: session.add(EXCLUDE),
        lambda: session.drop(1),
        lambda: session.drop(True),
        lambda: session.back(9),
        lambda: session.call(0, "  "),
        lambda: session.compare(0, "1"),
    ):
        with pytest.raises(ModelError):
            wish()
    assert session.snapshot() == before


def test_who_waits_is_told(base, tmp_path):
    session = Session(base, FIRST, tmp_path)
    version = session.version
    assert not session.wait(version, 0.0)
    threading.Timer(0.05, lambda: session.add(EXCLUDE)).start()
    assert session.wait(version, 10.0)


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record.update(fingerprint="another"),
        lambda record: record.update(demands=[{"kind": "exclude", "feature": 99}]),
        lambda record: record.pop("past"),
        lambda record: record.update(current="first"),
        lambda record: record.update(lists=[1]),
        lambda record: record.update(lists={" ": []}),
    ],
)
def test_a_changed_session_is_refused(base, tmp_path, edit):
    Session(base, FIRST, tmp_path)
    record = json.loads((tmp_path / FILE).read_text())
    edit(record)
    (tmp_path / FILE).write_text(json.dumps(record))
    with pytest.raises((ModelError, InvalidFile)):
        Session(base, FIRST, tmp_path)


EDITS = {
    "number": [-1, "1", True, 0.5, None],
    "name": [3, None, []],
    "n_select": [0, "six"],
    "n_per_class": [-2, None],
    "demands": ["none", [1], [{"kind": "exclude", "feature": 12}]],
    "selection": ["abc", [0, 2, 99], [0.0, 2, 3], [-1, 2], 5],
    "sets": [[[0, 2]], [[0, 2], [2, 3], [0, 3], [11]], "abcd", [[], [0], [0], [0]], [1, 2, 3, 4]],
    "objective": ["ten", float("nan"), float("inf"), 10**400, [1.0]],
    "bound": ["x", float("-inf"), True],
    "ended": [1, None],
    "accuracy": [{}, {"right": [1], "total": [1]}, {"right": [2] * 4, "total": [1] * 4}, [1]],
    "control": ["half", float("nan")],
    "problem": [0],
    "blamed": [3, ["a"], [-1]],
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, some in EDITS.items() for v in some])
def test_a_changed_state_is_refused(base, tmp_path, key, value):
    """It would come up later, in an answer of the server or in a process."""
    Session(base, FIRST, tmp_path)
    file = tmp_path / STATES / "000.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, key: value}))
    with pytest.raises((ModelError, InvalidFile), match=r"000\.json"):
        Session(base, FIRST, tmp_path)
    del record[key]
    file.write_text(json.dumps(record))
    with pytest.raises((ModelError, InvalidFile), match=r"000\.json"):
        Session(base, FIRST, tmp_path)


def test_what_cannot_be_kept_is_not_done(base, tmp_path, monkeypatch):
    def full(*arguments):
        raise InvalidFile("Cannot write: No space left on device.")

    session = Session(base, FIRST, tmp_path)
    session.add(EXCLUDE)
    before = session.snapshot()
    monkeypatch.setattr("qpopt_torch.studio.session.save_json", full)
    for wish in (lambda: session.drop(0), lambda: session.add({"kind": "bias", "value": 2})):
        with pytest.raises(InvalidFile, match="No space"):
            wish()
    assert session.snapshot() == before


def test_differences_are_named():
    before = FIRST.with_(accuracy=Accuracy((4, 4), (5, 5)))
    after = State(
        1, "b", (), 3, 2, (0, 3, 4), ((0, 4), (3, 2)), 9.0, accuracy=Accuracy((5, 1), (5, 5))
    )
    assert difference(before, after) == {
        "added": [4],
        "removed": [2],
        "classes": [{"class": 0, "gained": [4], "lost": [2]}],
        "objective": -1.0,
        "accuracy": pytest.approx(-0.2),
        "worst": [{"class": 1, "before": 4, "after": 1, "total": 5}],
    }
    assert difference(FIRST, after)["accuracy"] is None


def test_lists_of_demands_are_kept_under_names(base, tmp_path):
    session = Session(base, FIRST, tmp_path)
    session.add(EXCLUDE)
    session.keep("  no   seven ")
    session.drop(0)
    session.keep("nothing")
    again = Session(base, FIRST, tmp_path)
    assert again.snapshot()["lists"] == {"no seven": 1, "nothing": 0}
    again.take("no seven")
    assert [one.to_dict() for one in again.demands] == [EXCLUDE]
    again.undo()
    assert again.demands == ()
    again.forget("no seven")
    for wish in (lambda: again.take("no seven"), lambda: again.take(7), lambda: again.keep(" ")):
        with pytest.raises(ModelError):
            wish()
    assert list(Session(base, FIRST, tmp_path).lists) == ["nothing"]
