"""What steers a solve: limits, events, the incumbent and what is shown of them."""
