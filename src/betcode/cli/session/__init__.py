"""`betcode session`, `betcode attach` and `betcode` without a command."""
