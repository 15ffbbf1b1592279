"""Files of users and daemons: transferred between machines, written atomically, with their owner's permissions."""
