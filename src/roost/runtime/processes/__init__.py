"""Processes of jobs and of administrators' programs: started, limited, measured, and ended with all their children."""
