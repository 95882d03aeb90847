import json
import queue

import pytest

from qpopt_torch.studio.work.processes import Worker

WORK = """
import os, time
from qpopt_torch.studio.work.processes import serve
from qpopt import QpoptError

def work(job, tell):
    if job["do"] == "die":
        os._exit(3)
    if job["do"] == "refuse":
        raise QpoptError("not today")
    if job["do"] == "wait":
        tell({"kind": "began"})
        time.sleep(60)
    tell({"kind": "answer", "value": job["do"]})

serve(work)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    (tmp_path / "studio_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    told: queue.Queue[dict[str, object]] = queue.Queue()
    made = Worker("studio_work", [], told.put)
    yield made, told
    made.close()


def test_jobs_are_answered_and_a_new_one_ends_the_one_before(worker):
    made, told = worker
    made.submit({"id": 1, "do": "wait"})
    assert told.get(timeout=30) == {"id": 1, "kind": "began"}
    waiting = made.active
    made.submit({"id": 2, "do": "hello"})
    assert told.get(timeout=30) == {"id": 2, "kind": "answer", "value": "hello"}
    assert told.get(timeout=30) == {"id": 2, "kind": "done", "last": True}
    assert waiting.wait(timeout=30) < 0
    # The one that answered goes on with the next job.
    same = made.active
    made.submit({"id": 3, "do": "refuse"})
    assert told.get(timeout=30) == {
        "id": 3,
        "kind": "failed",
        "message": "not today",
        "last": True,
    }
    assert made.active is same
    made.submit({"id": 4, "do": "die"})
    message = told.get(timeout=30)
    assert (message["id"], message["kind"], message["last"]) == (4, "failed", True)
    assert "exit code 3" in str(message["message"])
    made.submit({"id": 5, "do": "again"})
    assert told.get(timeout=30) == {"id": 5, "kind": "answer", "value": "again"}
    assert json.dumps(message)


@pytest.mark.parametrize("which", ["active", "spare"])
def test_one_that_was_killed_while_nothing_was_to_do_is_replaced(worker, which):
    made, told = worker
    made.submit({"id": 1, "do": "hello"})
    assert [told.get(timeout=30)["kind"] for _ in range(2)] == ["answer", "done"]
    killed = getattr(made, which)
    killed.kill()
    killed.wait()
    if which == "spare":  # the next job ends this one, and then it is the turn of the other
        made.submit({"id": 2, "do": "wait"})
        assert told.get(timeout=30) == {"id": 2, "kind": "began"}
    made.submit({"id": 3, "do": "again"})
    assert told.get(timeout=30) == {"id": 3, "kind": "answer", "value": "again"}


def test_the_next_one_is_not_begun_before_the_first_message(worker):
    made, told = worker
    made.submit({"id": 1, "do": "wait"})
    assert told.get(timeout=30)["kind"] == "began"
    ready = made.spare
    made.cancel()
    assert made.active is ready
    assert made.spare is None
    made.cancel()
    made.submit({"id": 2, "do": "hello"})
    assert told.get(timeout=30)["kind"] == "answer"
    assert made.active is ready
    assert made.spare is not None


def test_one_that_cannot_begin_is_not_begun_again_and_again(tmp_path, monkeypatch):
    began = tmp_path / "began"
    (tmp_path / "never.py").write_text(f"open({str(began)!r}, 'a').write('x')\nraise SystemExit\n")
    monkeypatch.syspath_prepend(tmp_path)
    told: queue.Queue[dict[str, object]] = queue.Queue()
    made = Worker("never", [], told.put)
    made.active.wait()
    made.spare.wait()
    made.submit({"id": 1, "do": "anything"})
    assert told.get(timeout=30)["kind"] == "failed"
    made.close()
    assert len(began.read_text()) <= 6
