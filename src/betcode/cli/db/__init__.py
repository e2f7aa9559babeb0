"""`betcode db`."""
