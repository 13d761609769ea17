"""The rules, one per file: ``RULE`` says all about it, ``check(gold)`` or ``across(cases)`` finds."""
