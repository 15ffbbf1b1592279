"""The runs of jobs: from a match through claim, start and progress to what happens after the run."""
