"""Slave tasks of parallel jobs on this machine: requested, started, supervised and ended."""
