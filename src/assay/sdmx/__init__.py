"""Selections of SDMX data: read them from any form, resolve their structures, score them term by term."""
