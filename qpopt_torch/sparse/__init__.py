"""The sparse classifier, its head and its adapter."""
