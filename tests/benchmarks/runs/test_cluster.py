import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from distributed import LocalCluster

from benchmarks.errors import BenchmarkError
from benchmarks.runs.cluster import connect
from benchmarks.runs.execute import execute
from benchmarks.runs.rows import RowFile
from benchmarks.runs.run import run
from tests.benchmarks.conftest import STUB

pytestmark = pytest.mark.filterwarnings("ignore")  # of distributed itself, when workers die


@pytest.fixture
def cluster(monkeypatch):
    """Start two workers, each a process with one thread."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        scheduler_port=0,
        silence_logs=50,
    ) as cluster:
        yield cluster


@pytest.fixture
def start(library, tmp_path, cluster):
    def go(specs):
        return run(
            specs,
            tmp_path / "out",
            library=library,
            scheduler=cluster.scheduler_address,
            carry_out=partial(execute, command=STUB),
        )

    return go


def test_the_same_rows_come_back_from_a_cluster(start, make_spec, tmp_path):
    specs = [make_spec(solver=act, seed=seed) for act in ("fine", "crash") for seed in range(2)]
    rows = start(specs)
    assert {(row.solver, row.seed): row.status for row in rows} == {
        ("fine", 0): "optimal",
        ("fine", 1): "optimal",
        ("crash", 0): "crash",
        ("crash", 1): "crash",
    }
    assert len(RowFile(tmp_path / "out" / "rows.csv").read()) == 4


def test_the_runs_of_a_lost_worker_are_repeated_and_none_is_lost_or_doubled(
    start, make_spec, tmp_path, cluster
):
    victim = next(iter(cluster.workers.values())).pid
    path = tmp_path / "out" / "rows.csv"
    killed = []

    def kill_in_the_middle():
        while not (path.exists() and len(path.read_text().splitlines()) >= 3):
            time.sleep(0.05)
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    killer = threading.Thread(target=kill_in_the_middle, daemon=True)
    killer.start()
    specs = [make_spec(solver="slow", seed=seed) for seed in range(8)]
    rows = start(specs)
    killer.join(10)
    assert killed
    assert len(rows) == len(path.read_text().splitlines()) - 1 == 8
    assert {row.key for row in rows} == {spec.key for spec in specs}
    assert {row.status for row in rows} == {"optimal"}


def test_nobody_at_the_address_is_one_sentence(monkeypatch):
    monkeypatch.setattr("benchmarks.runs.cluster.CONNECT_SECONDS", 0.5)
    with pytest.raises(BenchmarkError, match="There is no dask scheduler at tcp:"):
        connect("tcp://127.0.0.1:9")
