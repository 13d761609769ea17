"""Join questions and answers, by ids or positions that leave no doubt."""
