"""The database file: connections, the writer's and readers' threads, checkpoints, epochs and disk use."""
