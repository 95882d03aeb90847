"""The `qpopt` command."""


def main() -> None:
    """Run the command line."""
