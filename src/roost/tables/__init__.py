"""Tables of transitions: what the state machines of slots, starters, jobs, claims and workflow nodes have in common.

A table is a tuple of rows. Each machine has its own row class, which adds to the fields of `rows.Row`. `rows` groups
rows by state and reports flaws, `finder` searches for the row to take, and `pages` renders the diagram and the table of
a documentation page.

It does not keep a state, and it does not execute rows.
"""
