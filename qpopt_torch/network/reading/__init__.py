"""Reading what goes into a network and what comes out of it."""
