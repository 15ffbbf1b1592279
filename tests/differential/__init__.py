"""Random cases in both worlds, the seeded one and real daemons, and what of them differs."""
