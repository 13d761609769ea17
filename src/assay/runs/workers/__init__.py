"""What a worker process does with a task: score a case, try a match, lint gold, build a suite, find a witness."""
