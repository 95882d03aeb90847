"""What one pass over the training data gives."""
