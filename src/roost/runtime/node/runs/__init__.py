"""Runs of jobs on this machine: the effects of a starter core, carried out with files, hooks and reports."""
