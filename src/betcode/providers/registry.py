"""Creates each provider from its spec and its settings when it is first needed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from betcode.config.agent_settings import AgentSettings
from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.domain.ports import Provider
from betcode.providers.specs import SPECS
from betcode.providers.versions import AgentVersions


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """The parameters of a provider in addition to its spec."""

    agents: AgentSettings = field(default_factory=AgentSettings)
    executable: Path | None = None  # of the default provider's program; None: found on the session's PATH
    versions: AgentVersions | None = None


class Providers(Mapping[str, Provider]):
    """The providers by name. Each is imported and created on first use, so that the daemon's start waits for none."""

    def __init__(self, context: ProviderContext, specs: Mapping[str, ProviderSpec] = SPECS) -> None:
        self._context = context
        self._specs = specs
        self._created: dict[str, Provider] = {}

    def __getitem__(self, name: str) -> Provider:
        if name not in self._created:
            spec = self._specs[name]
            create = import_module(f"{spec.package}.provider").create
            self._created.setdefault(name, create(spec, self._context))  # another thread may have created it
        return self._created[name]

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)
