"""The kinds of agents that promises are tried with: programs that do as they are told and keep a ledger of it.

BETCODE_KIND chooses the one of the random rounds and of the crash matrix.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from betcode.client import NewConversation
from betcode.domain.agents.provider_config import PREFIX
from betcode.domain.ports import Provider
from betcode.providers.acp.provider import AcpProvider
from betcode.providers.acp.spec import AcpSettings
from betcode.providers.claude.provider import ClaudeProvider
from support.daemon.process import AGENT_HEAD

_PROFILE = "mindful"


@dataclass(frozen=True, slots=True)
class Kind:
    """How to have a session with such an agent, and what cannot be had with it."""

    name: str
    provider: str
    module: str  # of support.agents
    reader: Callable[[Path], Provider]  # what translates its journals
    metadata: Mapping[str, str] = field(default_factory=dict)
    goes_on: bool = True  # with a turn that its death broke off
    can_all: bool = True  # compact, fork, and name the prompt that an answer is for

    def program(self, directory: Path) -> Path:
        """The agent as an executable file."""
        program = directory / f"agent-{self.module}"
        program.write_text(f"{AGENT_HEAD}from support.agents import {self.module}\n{self.module}.main()\n")
        program.chmod(0o755)
        return program

    def settings(self, directory: Path) -> dict[str, object]:
        """What the daemon's settings have under `agents` for it."""
        if self.provider != "acp":
            return {}
        return {"acp": {"commands": {_PROFILE: [str(directory / f"agent-{self.module}")]}}}

    def session(self, work: Path, home: Path) -> NewConversation:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
        return NewConversation(str(work), provider=self.provider, environment=environment, metadata=self.metadata)


def _claude(_: Path) -> Provider:
    return ClaudeProvider()


def _acp(program: Path) -> Provider:
    return AcpProvider(AcpSettings(commands={_PROFILE: (str(program),)}))


_OF_ACP = {f"{PREFIX}profile": _PROFILE}
CLAUDE = Kind("claude", "claude", "mindful", _claude)
ACP = Kind("acp", "acp", "mindful_acp", _acp, metadata=_OF_ACP, goes_on=False, can_all=False)
KINDS = {kind.name: kind for kind in (CLAUDE, ACP)}


def chosen_kind() -> Kind:
    return KINDS[os.environ.get("BETCODE_KIND", CLAUDE.name)]
