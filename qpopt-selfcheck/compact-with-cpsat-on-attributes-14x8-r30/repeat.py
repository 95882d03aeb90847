"""compact with cpsat on attributes-14x8-r30.

hang: it did not begin within 300 s.

Run again, it does the same and says what came of it; the exit code is 1 as long as that disagrees.
`instance.npz` is the instance, `optimum.json` a proven optimal solution of it; `solution.json` is
what came out, `answers.json` what the solver itself said, and `log.txt` what the process printed.
"""

import sys
from pathlib import Path

from qpopt.selfcheck.keeping import repeat

if __name__ == "__main__":
    sys.exit(
        repeat(
            Path(__file__).parent,
            method='compact',
            solver='cpsat',
            exact=True,
            options={'search_steps': 0},
            certified=False,
            seed=0,
        )
    )
