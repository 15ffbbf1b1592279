"""``roost lab``: simulate a policy, test it with scenarios, compare it with another."""
