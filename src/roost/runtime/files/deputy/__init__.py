"""A deputy: a small process that has become one user for good, and touches that user's files for a daemon of root.

`hands` is what is done to files, the same code in every process; `serve` is the deputy's process. Both import next to
nothing: a deputy is started when a user's files are first needed. `roost.runtime.files.deputies` starts them.
"""
