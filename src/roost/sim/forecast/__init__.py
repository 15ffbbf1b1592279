"""How long nothing can change, so that the simulation can leave out polls and reports that have no effect."""
