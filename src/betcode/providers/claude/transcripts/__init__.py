"""The transcripts of Claude Code: turns in them that were made without betcode."""
