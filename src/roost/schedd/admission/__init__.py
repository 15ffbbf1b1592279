"""What a queue accepts, and what the administrator makes of it: rules, transforms, limits, attributes that it owns."""
