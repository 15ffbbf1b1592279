"""Files that users hand to the lab: pools, workloads, and what reading TOML with places takes."""
