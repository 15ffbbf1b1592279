"""Machines of the lab: simulated ones, made from configuration as `roost.sim.machine.pattern` makes them."""

from roost.sim.machine.pattern import Hardware, Pattern, SeededHost, load_config, make_pattern
from roost.sim.machine.pattern import PatternError as LabError

__all__ = ["Hardware", "LabError", "Pattern", "SeededHost", "load_config", "make_pattern"]
