"""The real world: clock, files, processes, sensors. It carries out the effects of the cores, and decides nothing."""
