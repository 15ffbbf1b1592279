"""The ad of a slot: attributes that are sensed, configured, latched and shared between slots."""
