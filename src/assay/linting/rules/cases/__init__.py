"""Rules that look at all cases together, and at what stored runs answered."""
