"""The lab: what users do with the simulated world. Simulate a policy, test it with scenarios, compare it with another."""
