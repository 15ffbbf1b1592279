"""A file worker: a small process that has switched to one user for good, and accesses that user's files for a root
daemon.

`hands` has the file operations, the same code in every process; `serve` is the file worker's process. Both import next
to nothing, because a file worker is started when a user's files are first needed. `roost.runtime.files.file_workers`
starts them.
"""
