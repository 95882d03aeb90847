"""What models are worth: ours, controls and rivals on the same data and the same dense network."""
