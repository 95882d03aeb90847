"""The report: one HTML file in which a person can read the whole model."""

from qpopt_torch.report.html import write_report

__all__ = ["write_report"]
