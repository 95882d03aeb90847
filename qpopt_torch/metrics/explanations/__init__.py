"""What explanations are worth: how classes differ, and whether features are where they seem."""
