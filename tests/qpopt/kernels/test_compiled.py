from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import qpopt

PROGRAM = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from qpopt.kernels import admm, auction, enumeration, greedy_fill, matching, swap, tabu
    from qpopt.kernels.random import next_random
state = np.array([1], np.uint64)
print(next_random(state), state[0])
print(*[w.message for w in caught if "compiled loops" in str(w.message)], sep="\\n")
"""


def test_without_a_place_for_the_cache_loops_are_compiled_all_the_same(tmp_path):
    """Where __pycache__ is a file, and so is the home, not even root can write into them."""
    package = Path(qpopt.__file__).parent
    hidden = shutil.ignore_patterns("__pycache__")
    copy = Path(shutil.copytree(package, tmp_path / "qpopt", ignore=hidden))
    (copy / "kernels" / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    taken = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "IPYTHONDIR")
    environment = {key: value for key, value in os.environ.items() if key not in taken}
    environment |= {"HOME": str(home), "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers, *said = done.stdout.splitlines()
    # By hand: 1 ^ 1 << 13 is 8193, that ^ itself >> 7 is 8257, that ^ itself << 17 is 1082269761.
    assert numbers == "541134880 1082269761"
    assert len(said) == 1
    assert "set NUMBA_CACHE_DIR" in said[0]
