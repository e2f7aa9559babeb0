"""The Agent Client Protocol, version 1, as lines of JSON-RPC: frames, and what our own agent programs say beyond it."""
