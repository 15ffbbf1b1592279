"""Input files of the lab: pools and workloads, and a TOML reader that tracks places."""
