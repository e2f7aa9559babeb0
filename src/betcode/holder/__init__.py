"""The small program that owns an agent's pipes and journal and outlives the daemon, and the ways to start and read it.

It leaves to others what the lines mean. `program` and what it imports run in the holder itself and stay within the
standard library; `launch` and `reader` are for the daemon. This file imports nothing, so that a holder starts quickly.
"""

__all__ = ["journal", "launch", "platform", "program", "protocol", "reader"]
