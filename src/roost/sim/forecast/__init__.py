"""How long nothing can change: what lets the simulation leave out polls and reports that have no effect."""
