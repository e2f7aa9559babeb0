"""Draws a conversation: only the lines that are seen, each drawn once for a width."""
