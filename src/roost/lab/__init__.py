"""The lab: what users do with the simulated world: simulate a policy, test it with scenarios, compare it."""
