"""Everything in one call."""
