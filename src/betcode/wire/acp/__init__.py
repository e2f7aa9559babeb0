"""The Agent Client Protocol, version 1, as lines of JSON-RPC: frames, and the extensions of our own agent programs."""
