"""Score selections of SDMX data, term by term. Nothing is executed."""
