"""The matchmaker: an immutable snapshot of slots and idle jobs in, a plan of matches out, and the users' accounts.

Pure: it reads no clock and sends nothing. What it decides carries its reason, and what it rejects is counted by cause.
"""
