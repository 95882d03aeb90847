"""The best assignment of a fixed selection under demands, and what bounds it."""
