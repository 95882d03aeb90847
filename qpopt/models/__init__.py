"""The formulations, as Pyomo abstract models, and the arrays they are compiled to."""
