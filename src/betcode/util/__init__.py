"""Small helpers without a subject of their own. Standard library only: the holder imports them, too.

It imports nothing here, so that a holder starts quickly.
"""

__all__ = ["start_signals", "state_files", "user"]
