"""`python -m qpopt`: the `qpopt` command."""

import sys

from qpopt.cli.app import main

sys.exit(main())
