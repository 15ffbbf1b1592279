"""The Grid Engine cell of the pool as its queue keeps it: objects, changes, accounting, and answers about them."""
