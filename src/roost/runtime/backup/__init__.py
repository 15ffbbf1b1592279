"""Backups of a pool: one file with everything that its state directory and databases have, and how it is put back.

`taking` makes the file while the pool runs, `restoring` puts it into an empty state directory, `archive` is the form of
the file, `databases` copies a database from one engine to another.
"""
