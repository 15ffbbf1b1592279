"""Messages between daemons and commands over NATS: connections, the server, and how requests are answered."""
