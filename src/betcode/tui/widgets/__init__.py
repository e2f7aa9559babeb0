"""Widgets and dialogs that are not specific to a session's conversation."""
