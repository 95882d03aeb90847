"""Demands: from arguments to data, what counting says of them, and what breaks them."""
