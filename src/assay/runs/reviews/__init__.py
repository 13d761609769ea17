"""What people decide about cases: a file of reviews next to the question set, and what follows from it.

`file` reads and appends ``reviews.jsonl``, `keys` says which question, gold query and answer a review is about,
`deciding` makes the reviewed verdict of a case, `agreement` compares reviewers, `queue` orders the cases to look at,
and `export` writes the corrected question set.
"""
