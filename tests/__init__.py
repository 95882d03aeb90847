"""The tests of qpopt, qpopt_torch and the benchmarks."""

import os

# Torch and BLAS read this when they are loaded, here and in the processes that tests start: several
# workers of pytest that wait for each other's threads take many times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
