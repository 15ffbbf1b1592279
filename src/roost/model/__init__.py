"""Frozen data that several rooms share: identifiers, typed reasons, claims, and the events and effects of a slot.

Nothing here makes decisions: the modules define data types, and their few functions compute from their own fields.
`events` are past facts that a daemon hands to a slot; `effects` are orders that the slot's state machine returns for
the daemon to carry out.
"""
