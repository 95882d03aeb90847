"""The report: a page in which a person can read the whole model."""

from qpopt_torch.report.encoding import in_layout
from qpopt_torch.report.html import write_report

__all__ = ["in_layout", "write_report"]
