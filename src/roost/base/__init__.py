"""What every room is made of: records that are defined fast, copies of them with changes, and late imports."""
