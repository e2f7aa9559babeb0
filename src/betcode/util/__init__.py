"""Machinery that several packages share: atomic files, bounded file access, signals, watchers, background loops.

There are also the clock, the user's directories, JSON with comments, and the check for optional packages. Nothing here
knows of sessions, agents or clients. `state_files` needs the standard library only, because the holder imports it.
Nothing is imported here, so that a holder starts quickly.
"""

__all__ = [
    "atomic_files",
    "background_loops",
    "bounded_io",
    "signal",
    "start_signals",
    "state_files",
    "user",
    "watch_board",
]
