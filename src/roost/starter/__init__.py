"""The starter: runs one job on one slot, from creating its sandbox to reporting its end.

The state machine is `machine.step`; its table is in `transitions`. All of it is pure: events in, effects out. Types
shared with other rooms are in `roost.model.starter`, `starter_events` and `starter_effects`.
"""
