"""The HTTP API, the web pages and the metrics of a pool.

It decides nothing: it makes requests to the daemons in the name of the logged-in person, and renders the answers of
daemons, `roost.explain` and the linter. It is a separate daemon, `web`, besides the central manager; if WEB_SERVER is
false, none of it is loaded.
"""
