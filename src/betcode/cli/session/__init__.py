"""`betcode session`, `betcode attach` and `betcode` alone."""
