"""The matchmaker: an immutable snapshot of slots and idle jobs in, a plan of matches out, and the users' accounts.

Pure: it reads no clock and sends nothing. Decisions carry their reasons, and rejections are counted by cause.
"""
