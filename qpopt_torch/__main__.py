"""`python -m qpopt_torch`: the `qpopt-torch` command."""

import sys

from qpopt_torch.cli.entry import main

sys.exit(main())
