"""Tables of transitions: what the state machines of slots, starters, jobs, claims and workflow nodes have in common.

A table is a tuple of rows; each machine has its own class for them, with the fields of `rows.Row` and what else it
needs. `rows` sorts them by state and finds their mistakes, `finder` is the search for the row to take, `pages` makes
the diagram and the table of a documentation page.

What it does not do: keep a state, or carry a row out.
"""
