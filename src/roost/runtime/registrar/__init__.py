"""The members of a pool of several machines: invitations, keys, revocations, and the daemon that signs keys."""
