"""What is still possible for a sample: levels of its explanation, and sets with a guarantee."""
