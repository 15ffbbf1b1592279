"""One execute machine: the slots' state machines and the starters of their jobs, wired together.

The pure core of the node daemon. Events go in with their time, and effects come out as values; exchanges between a slot
and the starter of its job stay inside the room. It keeps what the slots of a machine share: the ledgers of divided
resources, the drain, and the last sensor readings.
"""
