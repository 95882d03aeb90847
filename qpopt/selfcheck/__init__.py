"""Whether the methods and solvers of this installation agree with what has been proven."""
