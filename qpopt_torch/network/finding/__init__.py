"""The steps of finding a head: the layer of the logits, and that of the feature maps."""
