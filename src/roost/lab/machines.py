"""Machines of the lab: simulated ones, made from configuration as `roost.sim.machine.pattern` makes them."""

from roost.sim.machine.pattern import Hardware, LabError, Pattern, SeededHost, load_config, make_pattern

__all__ = ["Hardware", "LabError", "Pattern", "SeededHost", "load_config", "make_pattern"]
