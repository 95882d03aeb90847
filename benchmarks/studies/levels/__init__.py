"""Levels, sets and the answer "none of these": what they are worth."""
