"""Where a run's tasks are done, beyond this machine's own pool: the machines of a Ray cluster."""
