"""Grid Engine's model: the objects of a cell, their text, and what they mean together.

The objects
    `queue` (cluster queues), `host` (host groups, execution hosts and `global`), `complex`, `parallel` (parallel
    environments, checkpointing interfaces), `calendar`, `quota`, `people` (user lists and departments, projects,
    users), `share_tree`, `scheduler` and `configuration`. All are frozen. The class of an object is the table of its
    attributes: `rows.attribute` gives each field its value type, default, check and description, and one engine
    (`text`, `kinds`) reads, checks and prints by it. `values` and `pairs` hold the value types.

The cell
    `cell.Cell` holds all objects. `cell.read_cell` reads the files of `save_sge_config.sh` or the output of
    `qconf -s…`; `cell.write_cell` prints them back byte for byte. `builtin` has what a new cell begins with.

What they mean
    `instances.resolve` gives the queue instances of a cell: each has a `queue.QueueSettings` with the values after
    overrides, and says which attributes are ambiguous (state c) and whether it is an orphan (state o).
    `complex.value_number`, `quota.dynamic_limit`, `calendar.Calendar.state_at` and `scheduler.formula_terms` turn
    texts into what a scheduling run computes with.

What starts
    `scheduling` is the scheduling run: a pure function from a snapshot of a cell with its jobs to a plan.

Values that Grid Engine prints back as they were written, such as ``1:00:00`` and ``1.5G``, are `values.Quantity`: the
text and the number. Errors are `problems.Refused`, with Grid Engine's own words, the place and a remedy.
"""
