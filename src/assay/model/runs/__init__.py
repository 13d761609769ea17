"""What comes out: a run with its settings, rates and totals, and how runs differ."""
