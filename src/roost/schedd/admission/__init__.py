"""What a queue accepts, and how it changes submissions: rules, transforms, limits, attributes that the queue owns."""
