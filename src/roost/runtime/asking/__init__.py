"""What has to be asked of a pool's daemons before `roost.explain` can answer: for commands and for the HTTP API.

Everything here takes a `PoolClient`, and raises what that raises.
"""
