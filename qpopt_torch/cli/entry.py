"""Where the `qpopt-torch` command begins, before torch is imported."""

from qpopt.cli.entry import start


def main() -> int:
    """Run the `qpopt-torch` command."""
    return start("qpopt_torch.cli.app", "qpopt-torch")
