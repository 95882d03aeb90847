"""Compiled loops of family cuts: what a few classes gain with distinct sets of a few features."""
