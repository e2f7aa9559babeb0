"""`betcode permission`: prompts that wait for a person, and their answers."""
