"""OpenAI-compatible APIs, through our own agent program."""
