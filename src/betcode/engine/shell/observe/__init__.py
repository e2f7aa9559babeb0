"""Observe the turns of a session: times, counts, traces, and the log of records."""
