"""What is known about one case: comparison, verdict, causes. `Evidence` has all of it, `CaseSummary` its numbers."""
