"""ListProviders: the agents that a session can use."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio

from betcode.domain.agents.capability_table import capability_message
from betcode.domain.agents.provider_about import Login, ProgramStatus
from betcode.domain.release.compatibility import AGENTS
from betcode.engine import Engine
from betcode.server.convert.requests import DefaultProvider, checked_environment
from betcode.server.rpc import Caller
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2

_LOGIN: Mapping[Login, v1.LoginState.ValueType] = {
    Login.UNKNOWN: v1.LOGIN_STATE_UNKNOWN,
    Login.YES: v1.LOGIN_STATE_LOGGED_IN,
    Login.NO: v1.LOGIN_STATE_LOGGED_OUT,
    Login.NOT_NEEDED: v1.LOGIN_STATE_NOT_NEEDED,
}
VersionOf = Callable[[Path], Awaitable[str]]


async def _no_version(_: Path) -> str:
    return ""


class ProviderCalls:
    def __init__(self, engine: Engine, default_provider: DefaultProvider, version_of: VersionOf) -> None:
        self._kinds = engine.kinds
        self._login_environment = engine.login_environment
        self._default_provider = default_provider
        self._version_of = version_of

    async def list_providers(self, _: Caller, request: v1.ListProvidersRequest) -> v1.ListProvidersResponse:
        """List the providers; all are probed at the same time, so that a slow one delays the answer only briefly."""
        environment = checked_environment(request.environment) or await self._login_environment()
        if request.name:
            self._kinds.refuse_unknown(request.name)
        names = [request.name] if request.name else [*self._kinds.names]
        default = await self._default_provider(environment)
        found: dict[str, v1.ProviderInfo] = {}

        async def probe(name: str) -> None:
            found[name] = await self._info(
                name, environment, _no_version if request.skip_versions else self._version_of
            )
            found[name].is_default = name == default

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(probe, name)
        return v1.ListProvidersResponse(providers=[found[name] for name in names])

    async def _info(self, name: str, environment: Mapping[str, str], version_of: VersionOf) -> v1.ProviderInfo:
        about = await self._kinds.about(name, environment)
        profiles = [await self._program(name, profile, each, version_of) for profile, each in about.profiles.items()]
        return v1.ProviderInfo(
            name=name,
            title=about.title,
            program=await self._program(name, "", about.standing, version_of),
            config_keys=about.keys,
            profiles=profiles,
        )

    async def _program(
        self, name: str, profile: str, standing: ProgramStatus, version_of: VersionOf
    ) -> v1.AgentProgram:
        version = standing.version
        if not version and standing.path and standing.tells_version:
            version = await version_of(Path(standing.path))
        agent = AGENTS.get(profile or name)
        missing = standing.missing
        if agent is not None and (refusal := agent.refusal(version)):
            missing = f"{refusal}: upgrade it ({agent.upgrade_url})"
        return v1.AgentProgram(
            profile=profile,
            path=standing.path,
            version=version,
            compatibility=version_pb2.COMPATIBILITY_UNKNOWN if agent is None else agent.level(version),
            login=_LOGIN[standing.login],
            login_basis=standing.login_basis,
            missing=missing,
            capabilities=capability_message(self._kinds.capabilities(name, profile)),
        )
