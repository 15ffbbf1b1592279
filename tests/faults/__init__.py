"""Simulated worlds in which messages are lost and daemons die, many at a time: `make sim`."""
