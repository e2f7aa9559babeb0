"""Renders a conversation: only the visible lines, each once per width."""
