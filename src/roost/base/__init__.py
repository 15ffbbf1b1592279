"""Building blocks of every room: records that are quick to define, modified copies of them, and late imports."""
