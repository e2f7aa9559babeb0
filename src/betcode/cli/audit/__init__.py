"""`betcode audit`."""
