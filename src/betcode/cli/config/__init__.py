"""`betcode config`."""
