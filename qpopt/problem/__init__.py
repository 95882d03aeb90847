"""The problem and its answer: instance, objective, assignment, solution, and their checks."""
