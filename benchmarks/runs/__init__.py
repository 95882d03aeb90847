"""Runs of methods and solvers on instances, each in a process of its own."""
