"""Each metric a pure function from what happened to a score: rescoring needs no database."""
