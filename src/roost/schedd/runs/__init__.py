"""The runs of jobs: from a match through claim, start and news to what becomes of the job."""
