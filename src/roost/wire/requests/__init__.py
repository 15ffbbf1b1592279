"""What daemons can be asked: a struct for each request, with its reply, in one module a daemon."""
