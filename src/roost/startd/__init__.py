"""The execute machine: the states of a slot, the draining of a machine, and the layout of slots.

The state machine of a slot is `machine.step`; its table is in `transitions`. All of it is pure: events in, effects out.
"""
