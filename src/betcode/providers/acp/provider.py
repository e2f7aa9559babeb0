"""The provider for programs that speak the Agent Client Protocol: any program, or a profile by name."""

from collections.abc import Mapping
from dataclasses import replace

from betcode.config.agent_settings import AcpSettings
from betcode.domain.agents.provider_about import ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import check_keys, provider_config
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.providers.acp import launch
from betcode.providers.acp.family import AcpFamily
from betcode.providers.acp.profile import CAPABILITIES, Profile
from betcode.providers.acp.profiles import GENERIC, PROFILES

NAME = "acp"
_PROFILE, _COMMAND, _MODE = "profile", "command", "mode"
_KEYS: Mapping[str, str] = {
    _PROFILE: f"which agent: {', '.join(PROFILES)}, or a name of agents.acp.commands",
    _COMMAND: 'the program and its arguments as a JSON list, such as ["goose", "acp"]',
    _MODE: "the mode to set, in the agent's own words",
}


class AcpProvider(AcpFamily):
    """Implements `betcode.domain.ports.Provider`; with a profile it is that agent under its own name."""

    capabilities = CAPABILITIES

    def __init__(self, settings: AcpSettings, profile: str = "") -> None:
        self.name = profile or NAME
        self._settings = settings
        self._only = profile

    def check(self, environment: Mapping[str, str]) -> None:
        """Raises AgentUnavailable, where it is one agent and that is not there."""
        if self._only:
            profile = PROFILES[self._only]
            launch.find_program(self._argv(profile, ""), profile, environment)

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest, AgentUnavailable."""
        check_keys(session, _KEYS if not self._only else (key for key in _KEYS if key != _PROFILE))
        asked = provider_config(session)
        name = asked.get(_PROFILE, "")
        if name and name not in PROFILES and name not in self._settings.commands:
            known = ", ".join(sorted({*PROFILES, *self._settings.commands}))
            raise InvalidRequest(f"There is no profile {name[:80]!r}: there is {known}", profile=name[:80])
        profile = self.profile_of(session)
        argv = self._argv(profile, asked.get(_COMMAND, ""))
        if not argv:
            raise InvalidRequest(
                "Say which agent is wanted: with profile=opencode and the like, or any other with command=[…]",
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
            return ProviderAbout(profile.title, self._standing(profile, environment), keys=_without_profile())
        named = [name for name in self._settings.commands if name not in PROFILES]
        known = [each for each in PROFILES.values() if each is not GENERIC]
        known += [replace(GENERIC, name=name, title=name) for name in named]
        standings = {each.name: self._standing(each, environment) for each in known}
        own = ProgramStatus(tells_version=False)
        return ProviderAbout("Agents that speak ACP", own, keys=_KEYS, profiles=standings)

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        """Raises AgentUnavailable."""
        profile = self.profile_of(session)
        argv = self._argv(profile, provider_config(session).get(_COMMAND, ""))
        if not argv:
            raise AgentUnavailable(f"No program is named for {profile.name!r}: see agents.acp.commands")
        return launch.launch(argv, profile, session, context)

    def _argv(self, profile: Profile, command: str) -> tuple[str, ...]:
        if command:
            return launch.command_in(command)
        return tuple(self._settings.commands.get(profile.name, profile.argv))

    def _standing(self, profile: Profile, environment: Mapping[str, str]) -> ProgramStatus:
        try:
            path = launch.find_program(self._argv(profile, ""), profile, environment)
        except AgentUnavailable as missing:
            return ProgramStatus(missing=missing.message)
        return ProgramStatus(path, tells_version=profile.tells_version)


def _without_profile() -> Mapping[str, str]:
    return {key: help_text for key, help_text in _KEYS.items() if key != _PROFILE}
