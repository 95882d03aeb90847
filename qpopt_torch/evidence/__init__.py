"""What explanations draw on."""
