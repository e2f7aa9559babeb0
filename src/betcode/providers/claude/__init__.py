"""Claude Code: launched with stream-json on both pipes, and translated frame by frame.

`ClaudeProvider` is the entry point. Our own agents that speak the same wire format use its dialogue too.
"""

from betcode.providers.claude.dialogue import ClaudeDialogue
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.claude.slash_commands import greeting

__all__ = ["ClaudeDialogue", "ClaudeProvider", "greeting"]
