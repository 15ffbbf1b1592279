"""The commands: parse the arguments, ask a room, print. Nothing is decided here."""
