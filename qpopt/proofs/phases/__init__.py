"""The phases of a proof: each makes less of what is open, and leaves the rest to the next."""
