"""`python -m qpopt`: the `qpopt` command."""

import sys

from qpopt.cli.entry import main

sys.exit(main())
