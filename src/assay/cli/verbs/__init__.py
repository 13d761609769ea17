"""One module for each verb: what it takes, and what it does with the public functions."""
