"""The `qpopt-torch` command."""
