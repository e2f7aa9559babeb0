"""Claude Code: launched with stream-json on both pipes, and translated frame by frame.

`ClaudeProvider` is the front door. Agents of ours that speak the same wire use its dialogue too.
"""

from betcode.providers.claude.dialogue import ClaudeDialogue
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.claude.slash_commands import greeting

__all__ = ["ClaudeDialogue", "ClaudeProvider", "greeting"]
