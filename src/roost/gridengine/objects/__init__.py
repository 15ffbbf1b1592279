"""The kinds of objects of a Grid Engine cell, one module each, and how their text is read and printed.

`queue` (cluster queues), `host` (host groups, execution hosts and `global`), `complex`, `parallel` (parallel
environments, checkpointing interfaces), `calendar`, `quota`, `people` (user lists and departments, projects, users),
`share_tree`, `scheduler` and `configuration`. All are frozen. The class of an object is the table of its attributes:
`rows.attribute` gives each field its value type, default, check and description, and one engine (`text`, `kinds`)
reads, checks and prints by it. `values` and `pairs` hold the value types.
"""
