"""`betcode policy`: rules, dry runs and project trust."""
