"""What the rows of a run say."""
