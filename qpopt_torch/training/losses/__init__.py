"""Training of dense, sparse and adapted models."""
