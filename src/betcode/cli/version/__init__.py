"""`betcode version`, `betcode features` and `betcode providers`."""
