"""What birds are made of, and how they are drawn."""
