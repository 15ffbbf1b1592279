"""Files of users and daemons: moved between machines, written whole or not at all, with their owner's rights."""
