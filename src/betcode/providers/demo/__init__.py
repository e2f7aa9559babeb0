"""The built-in demo agent: its own launch, and the dialogue of Claude Code."""
