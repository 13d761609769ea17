"""One module for each kind of work that is measured."""
