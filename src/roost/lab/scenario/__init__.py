"""Scenarios: what happens on machines over time and what policy must make of it; read, run and compared."""
