"""The numbers of a run, computed once from the summaries of its cases."""
