"""Rules that compare all cases, and the answers in stored runs."""
