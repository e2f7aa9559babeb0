"""Other sessions: which there are, what waits for a person, what was said in them."""
