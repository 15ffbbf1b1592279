"""The ad of a slot: what is sensed, configured, remembered and shown between neighbours."""
