"""The Grid Engine cell of the pool in its queue: objects, changes, accounting, and answers about them."""
