"""Our own agent programs. Each runs as a separate process on stdio, like any other agent."""
