"""A pool with a cell: its machines and jobs as input of the scheduling run, and the run's plan as matches.

`cycle.cell_cycle` replaces the matchmaker's cycle: it takes the same snapshot of slots and demands, and returns the
same kind of plan. `requests` reads a job's requests to a cell, `tasks` records what it got, `hosts` maps machines to
hosts of the cell and their load values, `suspensions` says what machines must suspend, `view` lists queue instances
like `qstat -f`, `lacking` says which parts of a cell have no effect yet.
"""
