"""The real server, asked over the loopback address."""

import io
import json
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from qpopt import Instance, InvalidArgument, InvalidFile
from qpopt_torch import load
from qpopt_torch.errors import ModelError
from qpopt_torch.studio.launch import open_studio
from qpopt_torch.studio.session import FILE
from tests.qpopt_torch.readable import NAMES, small_loader, small_network, small_sparse
from tests.qpopt_torch.studio.conftest import instance


def ask(address, path="", body=None, **headers):
    """Return status and content of an answer."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def act(opened, action, **more):
    status, content = ask(opened.address, "act", {"action": action, **more})
    return status, json.loads(content)


def state(opened):
    return json.loads(ask(opened.address, "state")[1])


def solved(opened, seconds=60.0):
    """Solve, wait until everything about the answer is known, and return its state."""
    status, told = act(opened, "solve")
    assert status == 200
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        found = opened.studio.session.state(told["state"])
        if found.problem or (found.ended and found.control is not None):
            return found
        time.sleep(0.05)
    raise AssertionError(f"no answer after {seconds} s: {found}")


def test_a_person_says_what_is_wrong_and_gets_an_answer(opened):
    assert act(opened, "add", demand={"kind": "exclude", "feature": 0})[0] == 200
    assert act(opened, "add", demand={"kind": "require", "feature": 7})[0] == 200
    found = solved(opened)
    assert 0 not in found.selection
    assert 7 in found.selection
    assert len(found.selection) == 6
    assert {len(row) for row in found.sets} == {2}
    assert len(set(found.sets)) == len(NAMES)
    wanted = opened.studio.wanted()
    columns = [[d in row for d in found.selection] for row in found.sets]
    assert found.objective == pytest.approx(wanted.objective(found.selection, columns).total)
    assert found.bound >= found.objective - 1e-9
    assert found.ended == "optimal"
    assert found.accuracy is not None
    assert sum(found.accuracy.total) == 21
    assert 0 <= found.control <= 1
    # All of it is on disk, and what is exported asks for the same.
    folder = opened.studio.session.folder
    assert json.loads((folder / FILE).read_text())["demands"][0]["feature"] == 0
    python = ask(opened.address, "export/python")[1].decode()
    assert "include=[7]" in python
    assert "exclude=[0]" in python
    compile(python, "exported", "exec")
    command = ask(opened.address, "export/command")[1].decode()
    assert command.startswith("qpopt-torch steer DIR --data FOLDER --out NEW --exclude 0")
    file = folder / "taken.npz"
    file.write_bytes(ask(opened.address, "export/instance")[1])
    assert Instance.load(file).fingerprint == wanted.fingerprint
    difference = json.loads(ask(opened.address, f"compare?before=0&after={found.number}")[1])
    assert 0 in difference["removed"] or 0 not in opened.studio.session.state(0).selection
    # The state becomes a model that decides as it was measured.
    told = act(opened, "save", state=found.number)[1]
    model = load(told["folder"], small_network())
    assert sorted(model.selection.tolist()) == sorted(found.selection)
    right = sum(int((model(x).argmax(1) == y).sum()) for x, y in small_loader(1))
    assert right == sum(found.accuracy.right)


def test_demands_that_exclude_one_another_are_named(opened):
    opened.studio.session.back(0)
    for demand in (
        {"kind": "bias", "value": 1.5},
        {"kind": "require", "feature": 3},
        {"kind": "exclude", "feature": 3},
    ):
        assert act(opened, "add", demand=demand)[0] == 200
    found = solved(opened)
    assert found.blamed == (1, 2)
    assert "3" in found.problem
    assert found.sets == ()
    opened.studio.session.back(0)


def test_a_solve_in_the_middle_gives_way_to_the_next(opened):
    opened.studio.session.back(0)
    first = act(opened, "solve")[1]["state"]
    found = solved(opened)
    assert found.number == first + 1
    assert found.ended == "optimal"
    assert act(opened, "solve")[0] == 200
    assert act(opened, "cancel")[0] == 200
    assert state(opened)["running"] == ""
    assert solved(opened).ended == "optimal"


def idle(opened, seconds=60.0):
    """Wait until nothing goes on, and return the session."""
    limit = time.monotonic() + seconds
    while opened.studio.session.running and time.monotonic() < limit:
        time.sleep(0.05)
    return opened.studio.session


def test_what_was_not_measured_in_time_is_measured_afterwards(opened):
    session = idle(opened)
    session.back(0)
    session.update(0, accuracy=None)
    assert solved(opened).accuracy is not None
    assert sum(idle(opened).state(0).accuracy.total) == 21


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("nothing", None, {}, 404),
        ("export/secrets", None, {}, 404),
        ("export/..%2f..%2fstudio.json", None, {}, 404),
        ("compare?before=0", None, {}, 400),
        ("compare?before=0&after=999999999", None, {}, 400),
        ("act", b"{", {}, 400),
        ("act", b"[" * 50_000, {}, 400),
        ("act", {"action": "explode"}, {}, 400),
        ("act", {"action": ["add"]}, {}, 400),
        ("act", [], {}, 400),
        ("act", b" " * 200_000, {}, 413),
        ("act", {"action": "undo"}, {"Origin": "http://evil.example"}, 403),
        ("act", {"action": "undo"}, {"Origin": "null"}, 403),
        ("act", {"action": "undo"}, {"Sec-Fetch-Site": "cross-site"}, 403),
        ("state", None, {"Host": "evil.example"}, 403),
        ("picture", b"no picture", {}, 400),
    ],
)
def test_what_is_wrong_is_refused(opened, path, body, headers, status):
    before = idle(opened).snapshot()
    answered, content = ask(opened.address, path, body, **headers)
    assert answered == status
    assert b"Traceback" not in content
    assert opened.studio.session.snapshot() == before


def test_without_the_token_nothing_is_found(opened):
    host, _, _ = opened.address.rstrip("/").rpartition("/")
    for token in ("", "wrong/", "wrong/state", "%2e%2e/state"):
        assert ask(f"{host}/", token)[0] == 404


def test_a_picture_of_ones_own_is_decided_as_the_model_decides(opened):
    x = small_loader(1)[0][0][0]
    pixels = (255 * (x - x.min()) / (x.max() - x.min())).permute(1, 2, 0).numpy().astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    status, content = ask(opened.address, "picture", stream.getvalue())
    told = json.loads(content)
    assert status == 200
    model = small_sparse()
    image = np.asarray(Image.open(io.BytesIO(stream.getvalue()))).astype(np.float32) / 255
    with torch.no_grad():
        logits = model(torch.from_numpy(image).permute(2, 0, 1)[None])[0]
    assert told["samples"][0]["pred"] == int(logits.argmax())
    best = told["entry"]["sums"][0]
    assert best[0] == int(logits.argmax())
    assert best[1] == pytest.approx(float(logits.max()), abs=0.01)
    assert told["images"][0].startswith("data:image/")


def test_a_picture_of_a_hundred_megapixels_is_refused_unread(opened):
    stream = io.BytesIO()
    Image.new("1", (12_000, 9_000)).save(stream, "PNG")
    status, content = ask(opened.address, "picture", stream.getvalue())
    assert status == 400
    assert "12,000 × 9,000" in json.loads(content)["error"]


def test_the_page_asks_nobody_else(opened):
    status, page = ask(opened.address)
    assert status == 200
    assert b"connect-src 'self'" in page
    assert b"<b>cat</b>" not in page


def test_what_does_not_fit_is_refused_before_anything_is_started(tmp_path):
    model, loader = small_sparse(), small_loader()
    other = Instance(np.eye(3, 5), np.zeros((5, 5)), np.zeros(5), 3, 1)
    with pytest.raises(ModelError, match="3 classes and 5 features"):
        open_studio(model, loader, instance=other, folder=tmp_path)
    weighing = small_sparse()
    weighing.sparse_head.class_bias = torch.ones(len(weighing.assignment))
    with pytest.raises(ModelError, match="adds a class bias"):
        open_studio(weighing, loader, instance=instance(), folder=tmp_path)
    with pytest.raises(InvalidArgument, match="Port"):
        open_studio(
            model,
            loader,
            instance=instance(),
            folder=tmp_path,
            port=70_000,
            browser=False,
            reading={"progress": False},
        )
    assert not Path(tmp_path / "studio").exists()


def test_an_answer_that_cannot_be_kept_is_said(opened, monkeypatch):
    """The thread that hears of answers goes on hearing."""

    def full(*arguments, **options):
        raise InvalidFile("Cannot write it: No space left on device.")

    studio = opened.studio
    with monkeypatch.context() as patched:
        patched.setattr(studio.session, "update", full)
        hear = studio.solver.on_message
        hear({"id": 0, "kind": "solution", "selection": [0], "sets": [[0]] * 4, "ended": "",
              "objective": 1.0, "bound": None})  # fmt: skip
    assert studio.session.snapshot()["running"] == "Cannot write it: No space left on device."
    studio.session.tell("")
