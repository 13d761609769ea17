"""`assay init`: a settings file with comments, from a question set, its answers and a database."""
