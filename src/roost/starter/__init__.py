"""The starter: one job on one slot, from the making of its sandbox to the report of its end.

The state machine is `machine.step`; its table is in `transitions`. All of it is pure: events in, orders out. Shapes
that others need too are in `roost.model.starter`, `starter_events` and `starter_effects`.
"""
