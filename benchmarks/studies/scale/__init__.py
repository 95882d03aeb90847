"""Hours of data and thousands of classes: what they cost, measured on what is generated."""
