"""The process that runs a workflow: `roost.dag`, connected to files, scripts and the queue."""
