"""Good selections, fast: greedy, swap search, and all selections of a small part."""
