"""The rules, one a module, in the folder that says the most that a rule looks at."""
