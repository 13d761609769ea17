"""What a worker process does with a task: score a case, try a match, lint the gold query, build a suite, find a
witness."""
