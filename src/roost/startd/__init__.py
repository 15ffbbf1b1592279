"""The execute machine: how a slot goes through its states, how a machine is drained, how slots are laid out.

The state machine of a slot is `machine.step`; its table is in `transitions`. All of it is pure: events in, orders out.
"""
