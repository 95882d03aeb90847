"""Data sets of texts and tables that one already has in memory."""
