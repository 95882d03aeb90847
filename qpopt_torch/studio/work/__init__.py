"""The processes that work for the studio, and what they work on."""
