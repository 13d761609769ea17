"""Summaries of one screen: at most 40 lines, headline first and last. ``--full`` prints the whole report instead."""
