"""Score queries by executing them."""
