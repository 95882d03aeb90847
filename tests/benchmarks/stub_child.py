"""A child of the benchmarks that does what the solver's name in the specification says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.library.library import Library
from qpopt import bound


def main(folder: Path) -> None:
    content = json.loads((folder / "spec.json").read_text())
    spec = content["spec"]
    library = Library(Path(content["library"]))
    act = spec["solver"]
    (folder / "ready").touch()
    if act == "crash":
        print("something broke")
        os._exit(3)
    if act == "hang":
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(os.environ["STUB_PIDS"]).write_text(f"{os.getpid()} {sleeper.pid}")
        time.sleep(600)
    if act == "greedy":
        block = bytearray(300_000_000)
        block[::4096] = b"x" * len(block[::4096])
        time.sleep(600)
    if act == "silent":
        return
    if act == "torn":
        (folder / "solution.json").write_text('{"format": "qpopt-sol')
        return
    best = library.best(spec["instance"])
    assert best is not None
    if act == "boast":
        best = replace(best, objective=best.objective + 1.0, bound=best.bound + 1.0)
    if act == "lowbound":
        assignment = [[True, False, True], [False, True, True]]
        best = replace(
            best, selection=[0, 2, 3], assignment=assignment, objective=12.8, bound=12.85
        )
    if act == "prove":
        certificate = bound(library.instance(spec["instance"])).certificate
        certificate.save(folder / "proof.npz")
        best = replace(best, bound=certificate.bound)
    if act == "forge":
        (folder / "proof.npz").write_bytes(b"no certificate")
    best.save(folder / "solution.json")
    (folder / "trace.jsonl").write_text(f"[0.0, {best.objective}, null]\n[0.5, 1.0")
    claims = {
        "error": "",
        "load_seconds": 0.25,
        "build_seconds": 0.5,
        "solve_seconds": 1.5,
        "versions": {"qpopt": "9.9", "threads": os.environ["OMP_NUM_THREADS"]},
    }
    if act == "refuse":
        (folder / "solution.json").unlink()
        claims |= {"error": "refused", "message": "too large for the licence"}
    if act == "slow":
        time.sleep(1.0)
    (folder / "claims.json").write_text(json.dumps(claims))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
