"""`betcode permission`: pending prompts and their answers."""
