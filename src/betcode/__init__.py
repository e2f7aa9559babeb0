"""betcode runs coding agents as durable sessions that any number of clients can watch and answer."""
