"""The library of instances with their best solutions and bounds."""
