"""Slave tasks of parallel jobs on this machine: asked for, started, watched and ended."""
