"""Going on with a proof: what is kept of it, and how it is checked before it counts."""
