"""Frozen data that several rooms share: identifiers, typed reasons, claims, and the events and effects of a slot.

Nothing here decides anything: the modules hold shapes, and the few functions on them compute from their own fields.
`events` are past facts that somebody hands to a slot; `effects` are orders that a slot's machine returns for
somebody else to carry out.
"""
