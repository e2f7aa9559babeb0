"""`betcode daemon`."""
