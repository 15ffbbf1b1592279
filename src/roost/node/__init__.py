"""One execute machine: the slots' state machines and the starters of their jobs, wired together.

The pure heart of the node daemon. Facts go in with their time, orders come out as values; between a slot and the
starter of its job nothing leaves the room. What is shared by the slots of a machine is kept here: the accounts of what
is divided between them, the drain, what sensors said last.
"""
