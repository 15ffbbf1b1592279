"""``roost cell``: the configuration of a Grid Engine cell, in files and in a pool."""
