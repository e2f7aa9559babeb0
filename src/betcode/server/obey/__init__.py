"""The obey API: the same sessions under other names, at a socket of their own.

Statuses and activities are told from what is stored anyway. Nothing here decides about sessions; that is the engine's.
"""
