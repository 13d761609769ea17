"""Carry a run out: ask, hand cases to workers, time, look for witnesses. The loop is `runner.CaseRunner`."""
