"""Small helpers that several packages use.

`state_files` needs the standard library only, because the holder imports it. Nothing is imported here, so that a
holder starts quickly.
"""

__all__ = ["background_loops", "start_signals", "state_files", "user"]
