"""The provider for programs that speak the Agent Client Protocol: any program, or a profile by name."""

from collections.abc import Mapping
from dataclasses import replace

from betcode.domain.agents.provider_about import ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import check_keys, provider_config
from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.providers.acp import launch
from betcode.providers.acp.family import AcpFamily
from betcode.providers.acp.profile import CAPABILITIES, Profile
from betcode.providers.acp.profiles import GENERIC, PROFILES
from betcode.providers.acp.spec import ANY, AcpSettings
from betcode.providers.registry import ProviderContext

_PROFILE, _COMMAND, _MODE = "profile", "command", "mode"


def create(spec: ProviderSpec, context: ProviderContext) -> "AcpProvider":
    return AcpProvider(context.agents.of(AcpSettings), spec)


class AcpProvider(AcpFamily):
    """Implements `betcode.domain.ports.Provider`, for any agent or for the one that is the profile of a spec."""

    capabilities = CAPABILITIES

    def __init__(self, settings: AcpSettings, spec: ProviderSpec = ANY) -> None:
        self.name = spec.name
        self._spec = spec
        self._settings = settings
        self._only = spec.name if spec.profile_of else ""

    def check(self, environment: Mapping[str, str]) -> None:
        """Raises AgentUnavailable if this provider is for one agent, and that agent is not installed."""
        if self._only:
            profile = PROFILES[self._only]
            launch.find_program(self._argv(profile, ""), profile, environment)

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest, AgentUnavailable."""
        check_keys(session, self._spec.keys)
        asked = provider_config(session)
        name = asked.get(_PROFILE, "")
        if name and name not in PROFILES and name not in self._settings.commands:
            known = ", ".join(sorted({*PROFILES, *self._settings.commands}))
            raise InvalidRequest(f"Unknown profile {name[:80]!r}: choose from {known}", profile=name[:80])
        profile = self.profile_of(session)
        argv = self._argv(profile, asked.get(_COMMAND, ""))
        if not argv:
            raise InvalidRequest(
                "No agent is chosen: set profile, such as profile=opencode, or command=[…] for another program",
                profiles=", ".join(PROFILES),
            )
        launch.check_program(argv[0])
        launch.find_program(argv, profile, session.environment or {})

    def profile_of(self, session: NewSession) -> Profile:
        name = self._only or provider_config(session).get(_PROFILE, "")
        if name in PROFILES:
            return PROFILES[name]
        return replace(GENERIC, name=name, title=name) if name else GENERIC

    def mode_of(self, session: NewSession) -> str:
        return provider_config(session).get(_MODE, "")

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        if self._only:
            profile = PROFILES[self._only]
            return ProviderAbout(profile.title, self._standing(profile, environment), keys=self._spec.keys)
        named = [name for name in self._settings.commands if name not in PROFILES]
        known = [each for each in PROFILES.values() if each is not GENERIC]
        known += [replace(GENERIC, name=name, title=name) for name in named]
        standings = {each.name: self._standing(each, environment) for each in known}
        own = ProgramStatus(tells_version=False)
        return ProviderAbout(self._spec.title, own, keys=self._spec.keys, profiles=standings)

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        """Raises AgentUnavailable."""
        profile = self.profile_of(session)
        argv = self._argv(profile, provider_config(session).get(_COMMAND, ""))
        if not argv:
            raise AgentUnavailable(f"No command is set for {profile.name!r}: see agents.acp.commands")
        return launch.launch(argv, profile, session, context)

    def _argv(self, profile: Profile, command: str) -> tuple[str, ...]:
        if command:
            return launch.command_in(command)
        return tuple(self._settings.commands.get(profile.name, profile.argv))

    def _standing(self, profile: Profile, environment: Mapping[str, str]) -> ProgramStatus:
        is_configured = profile.name in self._settings.commands
        try:
            path = launch.find_program(self._argv(profile, ""), profile, environment)
        except AgentUnavailable as missing:
            return ProgramStatus(is_configured=is_configured, missing=missing.message)
        return ProgramStatus(path, tells_version=profile.has_version_option, is_configured=is_configured)
