"""The provider for agents of an OpenClaw gateway. The agent is our bridge, `betcode.agents.openclaw`.

One bridge shows one session of the gateway. One gateway serves all sessions: the user's own, or one that is started
when first needed and then keeps running, with its files in betcode's state directory and none in a project.
"""

import os
import shutil
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from betcode.config.agent_settings import api_address
from betcode.config.units import NotUnderstood
from betcode.domain.agents.provider_about import Login, ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import check_keys, provider_config
from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.providers.acp.family import AcpFamily
from betcode.providers.acp.handshake import opening
from betcode.providers.acp.profile import CAPABILITIES, Profile
from betcode.providers.openclaw.gateway_start import GatewayStarter
from betcode.providers.openclaw.spec import SPEC, OpenClawSettings
from betcode.providers.registry import ProviderContext
from betcode.util.extras import EXTRAS, missing_extra

_URL, _TOKEN_FILE, _START = "url", "token_file", "start"
_INSTALL = "install it (npm install -g openclaw, with Node 24.16 or later)"
_ELSE = "or set agents.openclaw.url to a running gateway"
_TOKEN_VARIABLE = "OPENCLAW_GATEWAY_TOKEN"  # noqa: S105 the name of a variable
_NONE_NAMED = "No gateway is configured: set agents.openclaw.url, or agents.openclaw.start to start one"
_PROBE_S = 0.5

PROFILE = Profile(
    name=SPEC.name,
    title=SPEC.title,
    sets_model=False,  # it is told as the session is made
    shows_stderr=True,
    login="set agents.openclaw.token_file to the file with the gateway's token",
    capabilities=replace(
        CAPABILITIES,
        recognises_repeats=True,  # a message has an id, which the gateway keeps
        continues_broken_turn=False,  # the gateway does so by itself, and a bridge that comes later shows it
        commands_only=True,
        plan_mode=False,
        cost=True,
    ),
)


@dataclass(frozen=True, slots=True)
class _Gateway:
    """Which one a session is to have."""

    url: str
    token_file: str
    port: int
    is_ours: bool  # it is started where none answers


def create(_: ProviderSpec, context: ProviderContext) -> "OpenClawProvider":
    return OpenClawProvider(context.agents.of(OpenClawSettings))


class OpenClawProvider(AcpFamily):
    """Implements `betcode.domain.ports.Provider`."""

    name = SPEC.name
    capabilities = PROFILE.able

    def __init__(self, settings: OpenClawSettings | None = None) -> None:
        self._settings = settings or OpenClawSettings()
        self._starter = GatewayStarter()

    def check(self, environment: Mapping[str, str]) -> None:  # noqa: ARG002 (the packages are our own)
        """Raises AgentUnavailable if the packages are missing; which gateway is needed, depends on the session."""
        if missing := missing_extra(EXTRAS[SPEC.name]):
            raise AgentUnavailable(missing)

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest, AgentUnavailable."""
        self.check(session.environment or {})
        check_keys(session, SPEC.keys)
        gateway = self._gateway(provider_config(session))
        if gateway.is_ours:
            self._program(session.environment or {})
        elif not _answers(gateway.url):
            raise AgentUnavailable(
                f"No OpenClaw gateway answers at {gateway.url}: start it, set agents.openclaw.url to another, or "
                f"let betcode start one with agents.openclaw.start",
                url=gateway.url,
            )

    def profile_of(self, _: NewSession) -> Profile:
        return PROFILE

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        gateway = self._gateway({})
        if missing_packages := missing_extra(EXTRAS[SPEC.name]):
            standing = ProgramStatus(tells_version=False, missing=missing_packages)
        elif gateway.is_ours:
            try:
                standing = ProgramStatus(self._program(environment), login=Login.UNKNOWN)
            except AgentUnavailable as missing:
                standing = ProgramStatus(missing=missing.message, tells_version=False)
        elif gateway.token_file or environment.get(_TOKEN_VARIABLE):
            basis = gateway.token_file or f"{_TOKEN_VARIABLE} is set"
            standing = ProgramStatus(tells_version=False, login=Login.YES, login_basis=basis)
        elif self._settings.url:
            standing = ProgramStatus(tells_version=False, login=Login.UNKNOWN, login_basis="no token is named")
        else:
            standing = ProgramStatus(tells_version=False, missing=_NONE_NAMED)
        return ProviderAbout(SPEC.title, standing, SPEC.keys)

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        """Raises AgentUnavailable."""
        self.check(context.environment)
        gateway = self._gateway(provider_config(session))
        state_dir = state_directory(context.run_dir)
        argv = [
            sys.executable,
            "-I",
            "-m",
            "betcode.agents.openclaw",
            f"--url={gateway.url}",
            f"--state-dir={state_dir}",
        ]
        if gateway.token_file:
            argv.append(f"--token-file={gateway.token_file}")
        if gateway.is_ours:
            self._starter.ensure(state_dir, self._program(context.environment), gateway.port, context.environment)
            argv.append("--started")
        # A turn that was broken off goes on when its message is given again, which the engine does by itself.
        greeting = opening(session, replace(context, continue_turn=False))
        return Launch(tuple(argv), context.environment, Path(session.working_directory), greeting)

    def _program(self, environment: Mapping[str, str]) -> str:
        """Raises AgentUnavailable."""
        named = self._settings.program
        if named:
            if os.access(named, os.X_OK):
                return named
            raise AgentUnavailable(f"{named} is not an executable file: see agents.openclaw.program", path=named)
        found = shutil.which(SPEC.executable, path=environment.get("PATH")) or shutil.which(SPEC.executable)
        if found is None:
            raise AgentUnavailable(f"openclaw was not found on the PATH: {_INSTALL}, {_ELSE}")
        return found

    def _gateway(self, asked: Mapping[str, str]) -> _Gateway:
        """Raises InvalidRequest."""
        settings = self._settings
        url = settings.url
        if _URL in asked:
            try:
                url = str(api_address("ws", "wss").read(asked[_URL]))
            except NotUnderstood as wrong:
                raise InvalidRequest(f"provider_config.{_URL} must be {wrong}", key=_URL) from None
        token_file = asked.get(_TOKEN_FILE, "" if _URL in asked else settings.token_file)
        if token_file and not token_file.startswith("/"):
            raise InvalidRequest(f"provider_config.{_TOKEN_FILE} must be an absolute path", key=_TOKEN_FILE)
        if asked.get(_START, "false") not in ("true", "false"):
            raise InvalidRequest(f"provider_config.{_START} must be true or false", key=_START)
        start = asked[_START] == "true" if _START in asked else settings.start
        here = f"ws://127.0.0.1:{settings.port}"
        return _Gateway(url or here, token_file, settings.port, is_ours=start and not url)


def state_directory(run_dir: Path) -> Path:
    """Where the gateway that we start, and how far sessions were shown, are: beside the journals of runs."""
    return run_dir.parent.parent / "agents" / "openclaw"


def _answers(url: str) -> bool:
    """Whether something listens; only looked at on this machine, where that takes no time."""
    parts = urlsplit(url)
    if parts.hostname not in ("127.0.0.1", "localhost"):
        return True
    with socket.socket() as probe:
        probe.settimeout(_PROBE_S)
        return probe.connect_ex(("127.0.0.1", parts.port or (443 if parts.scheme == "wss" else 80))) == 0
