"""A run from its plan to its comparison: `plan`, `execution`, `workers`, `store`, `aggregate`, `compare`, `gates`."""

SETUP = "assay.runs.workers.scoring_worker:set_up"
"""What sets up the workers that judge cases. Here, so that a command can start them before it imports anything."""
PLAIN_SETUP = "assay.runs.workers.scoring_worker:set_up_plain"
"""The same if most queries are so plain that no parser is needed."""
