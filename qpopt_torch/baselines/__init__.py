"""What the optimisation is compared with."""
