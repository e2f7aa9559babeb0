"""Codex: `codex app-server`, JSON-RPC lines on both pipes, one thread per session.

`CodexProvider` is the front door. Whom Codex talks to, and as whom, is left to Codex's own configuration.
"""

from betcode.providers.codex.dialogue import CodexDialogue
from betcode.providers.codex.provider import CodexProvider

__all__ = ["CodexDialogue", "CodexProvider"]
