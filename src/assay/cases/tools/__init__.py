"""The files of other evaluators, as they come: each format one module, all on one frame."""
