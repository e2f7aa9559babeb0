"""A kind of agent whose table says no to everything that can be refused."""

from betcode.domain.agents.capabilities import Capabilities
from betcode.providers.claude.provider import ClaudeProvider

NOTHING = Capabilities(
    resume=False,
    continues_broken_turn=False,
    interrupt=False,
    permissions=True,
    deltas=False,
    recognises_repeats=False,
    commands_only=True,
    model=False,
)


class Unable(ClaudeProvider):
    """It speaks as Claude Code does, and is asked for nothing that it did not say it can."""

    capabilities = NOTHING
