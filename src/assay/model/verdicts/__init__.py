"""What is known about one case: comparison, verdict, causes, witness. `Evidence` has it all, `CaseSummary` numbers."""
