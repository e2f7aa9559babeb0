"""The holder: a small program that owns an agent's pipes and journal and outlives the daemon.

It does not interpret the lines. `program` and its imports run in the holder itself and use only the standard library;
`launch` and `reader` are for the daemon. This file imports nothing, so that a holder starts quickly.
"""

__all__ = ["journal", "launch", "platform", "program", "protocol", "reader"]
