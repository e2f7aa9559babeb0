"""Stored values: the rows of the store and the changes that one commit makes."""
