"""The provider for OpenAI-compatible APIs. The agent is `betcode.agents.openai`, one process per session.

A session can override each setting `agents.openai.KEY` as `provider_config.KEY` in its metadata. The program reads the
API key from a variable of the session's environment. The key is never an argument, and never in the environment of a
command that the program runs.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from betcode._version import __version__
from betcode.config.agent_settings import api_address, variable_name
from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType
from betcode.domain.agents.provider_about import Login, ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import check_keys, provider_config
from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.providers.acp.family import AcpFamily
from betcode.providers.acp.handshake import opening
from betcode.providers.acp.profile import CAPABILITIES, Profile
from betcode.providers.openai.spec import LEAST_CONTEXT_TOKENS, SPEC, WIRE_APIS, OpenAiSettings
from betcode.providers.registry import ProviderContext
from betcode.util.extras import EXTRAS, missing_extra

_OPENAI = "https://api.openai.com/v1"
_BASE_URL, _KEY_ENV, _WIRE, _CONTEXT = "base_url", "api_key_env", "wire_api", "context_tokens"
_MOST_TOKENS = 100_000_000
_READING = ("Read", "Grep", "Glob", "LS")

PROFILE = Profile(
    name=SPEC.name,
    title="The agent",
    sets_model=False,  # it is told as it is started
    capabilities=replace(
        CAPABILITIES,
        continues_broken_turn=True,
        recognises_repeats=True,
        edited_input=True,
        denial_message=True,
        plan_mode=False,
    ),
)


@dataclass(frozen=True, slots=True)
class _Api:
    """Where one session's model is."""

    base_url: str
    key_env: str
    wire: str
    context_tokens: int

    def lacks(self, environment: Mapping[str, str]) -> str:
        """What is missing, and what to do; empty: nothing that is known."""
        if self.base_url != _OPENAI or environment.get(self.key_env):
            return ""  # another server may want no key, and says so itself if it does
        variable = self.key_env or "the variable that agents.openai.api_key_env names"
        return (
            f"The OpenAI API needs a key: set {variable}, or another server in "
            "agents.openai.base_url, such as http://localhost:11434/v1"
        )


def create(_: ProviderSpec, context: ProviderContext) -> "OpenAiProvider":
    return OpenAiProvider(context.agents.of(OpenAiSettings))


class OpenAiProvider(AcpFamily):
    """Implements `betcode.domain.ports.Provider`."""

    name = SPEC.name
    capabilities = PROFILE.able

    def __init__(self, settings: OpenAiSettings | None = None) -> None:
        self._settings = settings or OpenAiSettings()

    def check(self, environment: Mapping[str, str]) -> None:  # noqa: ARG002 (the packages are our own)
        """Raises AgentUnavailable if the packages are missing; whether a key is, depends on the session."""
        if missing := missing_extra(EXTRAS[SPEC.name]):
            raise AgentUnavailable(missing)

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest, AgentUnavailable."""
        self.check(session.environment or {})
        check_keys(session, SPEC.keys)
        api = self._api(session)
        if not (session.model or self._settings.model):
            raise InvalidRequest("No model is chosen: name one, or set agents.openai.model for all sessions")
        if session.environment is not None and (lacking := api.lacks(session.environment)):
            raise AgentUnavailable(lacking)

    def profile_of(self, _: NewSession) -> Profile:
        return PROFILE

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        api = self._configured({})
        lacking = missing_extra(EXTRAS[SPEC.name]) or api.lacks(environment)
        if environment.get(api.key_env):
            login, basis = Login.YES, f"{api.key_env} is set"
        elif lacking:
            login, basis = Login.NO, f"{api.key_env} is not set"
        else:
            login, basis = Login.UNKNOWN, f"{api.key_env} is not set, and {api.base_url} may want no key"
        standing = ProgramStatus(version=__version__, login=login, login_basis=basis, missing=lacking)
        return ProviderAbout(SPEC.title, standing, SPEC.keys)

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        """Raises AgentUnavailable."""
        self.check(context.environment)
        api = self._api(session)
        if lacking := api.lacks(context.environment):
            raise AgentUnavailable(lacking)
        argv = [sys.executable, "-I", "-m", "betcode.agents.openai"]
        argv += [f"--transcripts={transcripts(context.run_dir)}", f"--base-url={api.base_url}", f"--wire={api.wire}"]
        argv += [f"--model={session.model or self._settings.model}", f"--key-variable={api.key_env}"]
        argv.append(f"--context-tokens={api.context_tokens}")
        forbidden = (*context.forbidden.deny, *context.forbidden.ask)
        if any(rule.startswith(_READING) for rule in forbidden):
            argv.append("--ask-reads")  # what is not asked is not screened
        # A turn that was broken off goes on when its message is given again, which the engine does by itself.
        greeting = opening(session, replace(context, continue_turn=False))
        return Launch(tuple(argv), context.environment, Path(session.working_directory), greeting)

    def _api(self, session: NewSession) -> _Api:
        return self._configured(provider_config(session))

    def _configured(self, asked: Mapping[str, str]) -> _Api:
        """Raises InvalidRequest."""
        settings = self._settings
        base_url = _read(_BASE_URL, asked, settings.base_url, api_address("http", "https"))
        key_env = _read(_KEY_ENV, asked, settings.api_key_env, variable_name())
        wire = asked.get(_WIRE, settings.wire_api)
        if wire not in WIRE_APIS:
            raise InvalidRequest(f"Unknown wire_api {wire[:80]!r}: choose {', '.join(WIRE_APIS)}", key=_WIRE)
        if wire == "auto":
            wire = "responses" if base_url in ("", _OPENAI) else "chat"
        return _Api(base_url or _OPENAI, key_env, wire, _tokens(asked.get(_CONTEXT), settings.context_tokens))


def transcripts(run_dir: Path) -> Path:
    """Where conversations are kept: beside the journals of runs, and longer than those."""
    return run_dir.parent.parent / "agents" / "openai"


def _read(key: str, asked: Mapping[str, str], default: str, kind: ValueType) -> str:
    if key not in asked:
        return default
    try:
        return str(kind.read(asked[key]))
    except NotUnderstood as wrong:
        raise InvalidRequest(f"provider_config.{key} must be {wrong}", key=key) from None


def _tokens(asked: str | None, default: int) -> int:
    if asked is None:
        return default
    if not (asked.isascii() and asked.isdigit() and len(asked) < 12):
        raise InvalidRequest(f"provider_config.{_CONTEXT} must be a number of tokens", key=_CONTEXT)
    return min(max(int(asked), LEAST_CONTEXT_TOKENS), _MOST_TOKENS)
