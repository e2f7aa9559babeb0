"""Counters, traces of turns, and the health of the daemon. Values only; nothing is sent here."""
