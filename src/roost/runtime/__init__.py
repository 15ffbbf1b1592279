"""The real world: clock, files, processes, sensors. It carries out what the cores order, and decides nothing."""
