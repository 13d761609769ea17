"""The sections of a report, in their order: made once from a view, drawn by every format by their kind alone."""
