"""A pool that runs by a cell: its machines and jobs as the scheduling run sees them, and the run's plan as matches.

`cycle.cell_cycle` stands in the place of the matchmaker's cycle: it takes the same snapshot of slots and demands, and
gives the same kind of plan. `requests` reads what a job asks a cell for, `tasks` writes down what it got, `hosts` says
which machine is which host of the cell and what it reports, `suspensions` what machines are to suspend, `view` lists
queue instances as `qstat -f` does, `lacking` says what of a cell has no effect yet.
"""
