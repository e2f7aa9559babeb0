"""Screens for other sessions: list, inbox and search."""
