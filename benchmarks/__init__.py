"""Benchmarks of qpopt: run `python -m benchmarks --help`."""
