"""Compiled loops; nothing else imports numba."""
