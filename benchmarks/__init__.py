"""How fast Assay is, and what it needs: `python -m benchmarks`."""
