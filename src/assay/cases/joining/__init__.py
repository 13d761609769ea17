"""Bring questions and answers together, by ids or positions that leave no doubt."""
