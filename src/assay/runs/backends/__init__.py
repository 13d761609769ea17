"""Workers on the nodes of a Ray cluster, each with a pool of its own."""
