"""Requests to a pool's daemons that `roost.explain` needs before it can answer: for commands and for the HTTP API.

Everything here takes a `PoolClient`, and raises what that raises.
"""
