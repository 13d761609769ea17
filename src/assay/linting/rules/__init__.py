"""The rules, one per module, in a folder for the most that a rule needs."""
