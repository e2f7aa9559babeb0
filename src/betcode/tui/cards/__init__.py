"""What agents ask, as cards that are answered with one key."""
