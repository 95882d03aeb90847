"""From bounds to a proof."""
