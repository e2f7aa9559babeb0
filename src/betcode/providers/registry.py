"""Creates each provider from its settings when it is first needed."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from betcode.config.agent_settings import AgentSettings
from betcode.domain.ports import Provider


def _demo(_: AgentSettings) -> Provider:
    from betcode.providers.demo.provider import DemoProvider

    return DemoProvider()


def _codex(agents: AgentSettings) -> Provider:
    from betcode.providers.codex.provider import CodexProvider

    return CodexProvider(agents.codex)


def _acp(agents: AgentSettings, profile: str = "") -> Provider:
    from betcode.providers.acp.provider import AcpProvider

    return AcpProvider(agents.acp, profile)


def _openai(agents: AgentSettings) -> Provider:
    from betcode.providers.openai.provider import OpenAiProvider

    return OpenAiProvider(agents.openai)


def _openclaw(agents: AgentSettings) -> Provider:
    from betcode.providers.openclaw.provider import OpenClawProvider

    return OpenClawProvider(agents.openclaw)


# One line for each kind of agent; whoever makes it imports its room then and not before.
MAKERS: Mapping[str, Callable[[AgentSettings], Provider]] = {
    "demo": _demo,
    "codex": _codex,
    "openai": _openai,
    "acp": _acp,
    "opencode": partial(_acp, profile="opencode"),
    "gemini": partial(_acp, profile="gemini"),
    "claude-agent-acp": partial(_acp, profile="claude-agent-acp"),
    "codex-acp": partial(_acp, profile="codex-acp"),
    "openclaw": _openclaw,
}


class Providers(Mapping[str, Provider]):
    """Kinds of agents by name, each made when it is first asked for: a daemon that starts waits for none of them."""

    def __init__(self, makers: Mapping[str, Callable[[AgentSettings], Provider]], agents: AgentSettings) -> None:
        self._makers = makers
        self._agents = agents
        self._made: dict[str, Provider] = {}

    def __getitem__(self, name: str) -> Provider:
        if name not in self._made:
            self._made.setdefault(name, self._makers[name](self._agents))  # a thread may make it too
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
