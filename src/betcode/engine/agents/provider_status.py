"""The providers that sessions can use, and their current status on this machine."""

from collections.abc import Mapping
from functools import partial

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.known_models import KnowsModels
from betcode.domain.agents.provider_about import ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import PREFIX
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import InvalidRequest
from betcode.domain.ports import Provider
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import new_session_id
from betcode.engine.context import EngineContext

_PROFILE = PREFIX + "profile"


class ProviderStatus:
    """What `betcode providers` and its like want to know."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._context.providers)

    def refuse_unknown(self, name: str) -> None:
        """Raises InvalidRequest where there is no such kind."""
        refuse_unknown(self._context.providers, name)

    async def about(self, name: str, environment: Mapping[str, str]) -> ProviderAbout:
        """How it stands where sessions have this environment; looked at off the event loop."""
        try:
            return await self._context.file_io.run(f"provider {name}", partial(self._look, name, environment))
        except FilesystemTimeout as no_answer:
            return ProviderAbout(name, ProgramStatus(missing=f"Cannot check whether it is installed: {no_answer}"))

    def capabilities(self, name: str, profile: str = "") -> Capabilities:
        """Of a session of this kind that says nothing more than perhaps its profile."""
        told = {_PROFILE: profile} if profile else {}
        return self._context.providers[name].capabilities_for(NewSession(new_session_id(), name, "/", metadata=told))

    def model_refusal(self, name: str, model: str, environment: Mapping[str, str]) -> str:
        """Why this kind cannot use that model, in a sentence; empty where it can, or does not know its models."""
        provider = self._context.providers[name]
        return provider.model_refusal(model, environment) if isinstance(provider, KnowsModels) else ""

    def _look(self, name: str, environment: Mapping[str, str]) -> ProviderAbout:
        return self._context.providers[name].about(environment)


def refuse_unknown(providers: Mapping[str, Provider], name: str) -> None:
    """Raises InvalidRequest, with those that there are."""
    if name not in providers:
        raise InvalidRequest(f"No such provider {name[:80]!r}: choose one of {', '.join(sorted(providers))}")
