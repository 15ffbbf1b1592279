"""The HTTP API, the web pages and the metrics of a pool.

It decides nothing: it asks the daemons in the name of the person who asks, and renders what they, `roost.explain` and
the linter answer. It is a daemon of its own, `web`, beside the central manager; where WEB_SERVER is false nothing of it
is loaded.
"""
