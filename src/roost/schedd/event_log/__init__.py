"""The event log of a user in HTCondor's text format: its events, written and read."""
