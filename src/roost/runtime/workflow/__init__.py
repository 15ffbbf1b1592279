"""The process that runs a workflow: `roost.dag` between files, scripts and the queue."""
