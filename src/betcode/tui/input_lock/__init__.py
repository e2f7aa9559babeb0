"""The input lock on the screen: its state, its card, and requests for it."""
