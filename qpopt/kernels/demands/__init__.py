"""Compiled loops about demands."""
