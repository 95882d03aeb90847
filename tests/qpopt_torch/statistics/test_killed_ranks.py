"""A process that is killed ends all others, and any number of them goes on."""

import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from torch.utils.data import DataLoader

from qpopt_torch import Statistics, collect
from tests.qpopt_torch.launch import ROOT, in_processes
from tests.qpopt_torch.small import cnn
from tests.qpopt_torch.statistics.ending import Ending

PROGRAM = """
import os, sys, time
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from qpopt import QpoptError
from qpopt_torch import collect
from tests.qpopt_torch.small import cnn
from tests.qpopt_torch.statistics.ending import Ending

class Waiting(Ending):
    def __getitem__(self, index):
        while len(self.read) > 12 and os.environ.get("WAITING") == os.environ["RANK"]:
            time.sleep(0.1)
        return super().__getitem__(index)

dist.init_process_group("gloo")
data, rank = Waiting(), dist.get_rank()
loader = DataLoader(data, 3, sampler=DistributedSampler(data, shuffle=False))
path = f"{sys.argv[1]}/pass.npz"
try:
    found = collect(cnn().double(), loader, bins=4, checkpoint=path, every=1, progress=False)
except QpoptError as error:
    print(error, flush=True)
    os._exit(1)
found.save(f"{sys.argv[1]}/found-{rank}-of-{dist.get_world_size()}.npz")
if rank == 0:
    print(len(data.read), "read", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def start(folder, ranks):
    """Start processes without anybody who would end all of them when one has ended."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    (folder / "alone.py").write_text(PROGRAM, encoding="utf-8")
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    shared |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "WAITING": str(ranks - 1)}
    return [
        subprocess.Popen(
            [sys.executable, str(folder / "alone.py"), str(folder)],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for rank in range(ranks)
    ]


def alike(found, whole):
    assert found.counts.tolist() == whole.counts.tolist()
    for key in ("class_sums", "mean", "std", "minima", "locality", "center"):
        np.testing.assert_allclose(getattr(found, key), getattr(whole, key), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.similarity(), whole.similarity(), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("others", [1, 3])
def test_a_killed_rank_ends_all_and_another_number_goes_on(tmp_path, others):
    running = start(tmp_path, 2)
    try:
        limit = time.monotonic() + 120
        while len(list(tmp_path.glob("pass.npz-*"))) < 2 and time.monotonic() < limit:
            time.sleep(0.1)
        time.sleep(2)
        running[1].send_signal(signal.SIGKILL)
        said, _ = running[0].communicate(timeout=120)
    finally:
        for process in running:
            process.kill()
            process.communicate()
    assert said.splitlines() == [
        "Rank 0 ends because another of the 2 processes has ended; start all of them again, and "
        "what has a checkpoint goes on."
    ]
    assert running[0].returncode == 1
    printed = in_processes(PROGRAM, tmp_path, others)
    assert "read" in printed
    whole = collect(cnn().double(), DataLoader(Ending(), 3), bins=4, progress=False)
    for rank in range(others):
        alike(Statistics.load(tmp_path / f"found-{rank}-of-{others}.npz"), whole)
    # Of 35 samples rank 0 had seen its 18, and of the other's 17 at least 9 were saved; the first
    # batch, which tells the head, is read again.
    n_read = int(printed.split()[0])
    assert n_read <= 3 + -(-(35 - 18 - 9) // others)
    assert not list(tmp_path.glob("pass.npz*"))


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_any_number_of_processes_finds_the_same(tmp_path, ranks):
    in_processes(PROGRAM, tmp_path, ranks)
    whole = collect(cnn().double(), DataLoader(Ending(), 3), bins=4, progress=False)
    first, *others = (
        Statistics.load(tmp_path / f"found-{rank}-of-{ranks}.npz") for rank in range(ranks)
    )
    alike(first, whole)
    for other in others:
        for key in ("sums", "squares", "minima", "locality", "histograms"):
            np.testing.assert_array_equal(getattr(first, key), getattr(other, key))
