"""`betcode run`: one turn without an interactive session."""
