"""Shell completion: scripts, candidates, and values from a running daemon."""
