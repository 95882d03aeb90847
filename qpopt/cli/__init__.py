"""The `qpopt` command."""
