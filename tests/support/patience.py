"""How long a test waits for what must come. It says nothing of speed: only what never comes is a failure."""

PATIENCE_S = 60.0
