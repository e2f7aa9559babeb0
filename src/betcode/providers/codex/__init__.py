"""Codex: `codex app-server`, JSON-RPC lines on both pipes, one thread per session.

`CodexProvider` is the entry point. Codex's own configuration selects the model provider and the login.
"""

from betcode.providers.codex.dialogue import CodexDialogue
from betcode.providers.codex.provider import CodexProvider

__all__ = ["CodexDialogue", "CodexProvider"]
