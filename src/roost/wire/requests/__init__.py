"""The requests to daemons: a struct for each request, with its reply, in one module per daemon."""
