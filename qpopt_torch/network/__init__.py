"""Looking into a network: its head, its feature maps."""
