"""Print the lower bounds of setup.cfg as constraints for pip: exactly the oldest versions allowed.

    python .ci/lowest.py gurobi cpsat scip > lowest.txt

The arguments are the extras to print beside what every installation needs.
"""

from __future__ import annotations

import configparser
import re
import sys
from pathlib import Path

SETUP = Path(__file__).parents[1] / "setup.cfg"
BOUND = re.compile(r"(?P<name>[\w.-]+) >= (?P<version>[\w.]+)(?P<marker> ?;.*)?")


def lower_bounds(extras: list[str]) -> list[str]:
    """Return a line for every requirement; one without a lower bound is an error."""
    setup = configparser.ConfigParser()
    setup.read(SETUP, encoding="utf-8")
    known = setup["options.extras_require"]
    texts = [setup["options"]["install_requires"], *(known[extra] for extra in extras)]
    lines = [line for text in texts for line in text.splitlines() if line]
    found = []
    for line in lines:
        match = BOUND.fullmatch(line)
        if match is None:
            raise SystemExit(f"setup.cfg: {line!r} has no lower bound.")
        found.append(f"{match['name']}=={match['version']}{match['marker'] or ''}")
    return found


if __name__ == "__main__":
    print("\n".join(lower_bounds(sys.argv[1:])))
