"""`betcode run`: one turn without a conversation around it."""
