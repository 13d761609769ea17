"""One case, ready to draw: its queries or turns, their outcomes, causes, doubts and counterexamples."""
