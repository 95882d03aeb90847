"""Independent checks, sharing nothing with what they check."""
