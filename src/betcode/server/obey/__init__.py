"""The obey API: the same sessions under other names, on a separate socket.

Statuses and activities are derived from stored events. This package decides nothing about sessions; the engine does.
"""
