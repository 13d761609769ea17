"""Judge one case: what it needs executed, what its answer comes to, and what evidence that leaves."""
