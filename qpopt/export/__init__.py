"""Writing the formulations of an instance as files that other solvers read."""
