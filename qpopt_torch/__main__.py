"""`python -m qpopt_torch`: the `qpopt-torch` command."""

import sys

from qpopt_torch.cli.app import main

sys.exit(main())
