"""The version of qpopt, read by setup.cfg and by the files that qpopt writes."""

__version__ = "0.1.0"
