"""What the site draws while it is built: every picture light and dark, by a function each."""
