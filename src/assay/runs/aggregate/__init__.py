"""The numbers of a run, computed once."""
