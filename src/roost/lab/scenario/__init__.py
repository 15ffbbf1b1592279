"""Scenarios: events on machines over time and the expected results of policy; read, run and compared."""
