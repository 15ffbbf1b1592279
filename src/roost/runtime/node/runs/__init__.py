"""Runs of jobs on this machine: what a starter core orders, carried out with files, hooks and reports."""
