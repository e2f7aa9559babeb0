"""Codex: `codex app-server`, JSON-RPC lines on both pipes, one thread per session.

Codex's own configuration selects the model provider and the login.
"""
