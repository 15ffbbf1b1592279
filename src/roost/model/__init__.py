"""Frozen data that several rooms share: identifiers, typed reasons, claims, and the events and effects of a slot.

Nothing here decides anything: the modules hold shapes, and the few functions on them compute from their own fields.
`events` are past facts that a daemon hands to a slot; `effects` are orders that the slot's state machine returns for
the daemon to carry out.
"""
