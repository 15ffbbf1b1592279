"""Support for commands that stay connected to a program in the pool: its streams, its terminal, and its end."""
