SETUP = "assay.runs.scoring_worker:set_up"
"""What sets up the workers that judge cases. Here, so that a command can start them before it imports anything."""
