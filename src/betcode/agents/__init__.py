"""Our own agent programs. Each runs as a process of its own on stdio, like anybody else's."""
