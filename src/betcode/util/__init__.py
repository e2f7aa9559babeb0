"""Small helpers without a subject of their own.

`state_files` needs the standard library only, because the holder imports it. Nothing is imported here, so that a
holder starts quickly.
"""

__all__ = ["background_loops", "start_signals", "state_files", "user"]
