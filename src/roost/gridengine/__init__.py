"""Grid Engine's model: the objects of a cell, their text form, and their combined meaning.

The cell
    `cell.Cell` holds all objects; `objects` has their kinds. `cell.read_cell` reads the files of
    `save_sge_config.sh` or the output of `qconf -s…`; `cell.write_cell` prints them back byte for byte. `builtin` has
    the initial objects of a new cell.

What they mean
    `instances.resolve` gives the queue instances of a cell: each has an `objects.queue.QueueSettings` with the values
    after overrides, and says which attributes are ambiguous (state c) and whether it is an orphan (state o).
    `complex.value_number`, `quota.dynamic_limit`, `calendar.Calendar.state_at` and `scheduler.formula_terms` parse
    texts into the values of a scheduling run.

What starts
    `scheduling` is the scheduling run: a pure function from a snapshot of a cell with its jobs to a plan.

Values that Grid Engine prints back unchanged, such as ``1:00:00`` and ``1.5G``, are `values.Quantity`: the
text and the number. Errors are `problems.Refused`, with Grid Engine's own message, the place and a remedy.
"""
