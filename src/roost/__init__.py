"""Roost: a workload manager whose heart is policy."""

__version__ = "0.1.0"
