"""Keyboard input: delivery in order, and keys that were typed before the screen started."""
