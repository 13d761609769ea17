"""Score one case: execute what it needs, decide on its answer, and keep the evidence."""
