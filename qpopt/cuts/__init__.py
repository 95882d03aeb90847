"""Inequalities: how each is found, and what it adds."""
