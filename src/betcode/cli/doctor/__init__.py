"""`betcode doctor`."""
