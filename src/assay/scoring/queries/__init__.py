"""Judge queries by executing them."""
