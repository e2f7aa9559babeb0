"""Claude Code: launched with stream-json on both pipes, and translated frame by frame.

Our own agents that speak the same wire format use this dialogue too.
"""
