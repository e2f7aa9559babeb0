"""The provider for Codex. A session can set the keys of its spec as `provider_config.KEY` in its metadata."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import Command
from betcode.domain.agents.project_files import Program
from betcode.domain.agents.provider_about import Login, ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import check_keys, provider_config
from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.ports import Dialogue
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.providers.codex import commands
from betcode.providers.codex.dialogue import CodexDialogue
from betcode.providers.codex.environment import codex_home, key_of_provider, stores_login_in_keyring
from betcode.providers.codex.executable import find_binary
from betcode.providers.codex.launch import SANDBOXES, launch
from betcode.providers.codex.spec import SPEC, CodexSettings
from betcode.providers.codex.state import VERSION, State, carried_over, dump, load
from betcode.providers.provider_base import DialogueStates, ProviderBase
from betcode.providers.registry import ProviderContext

_LONGEST_EFFORT = 40
_LONGEST_BYTES = 1024 * 1024


def create(_: ProviderSpec, context: ProviderContext) -> "CodexProvider":
    return CodexProvider(context.agents.of(CodexSettings))


class CodexProvider(ProviderBase[State]):
    """Implements `betcode.domain.ports.Provider`; without a path `codex` is looked for on the session's PATH."""

    name = SPEC.name
    dialogue_version = VERSION
    states = DialogueStates(
        new=lambda conversation_id: State(conversation_id=conversation_id),
        lost=lambda conversation_id: State(
            conversation_id=conversation_id, thread=conversation_id, began=True, lost=True
        ),
        load=load,
        dump=dump,
        carried_over=carried_over,
    )
    capabilities = Capabilities(
        resume=True,
        continues_broken_turn=False,
        interrupt=True,
        permissions=True,
        deltas=True,
        recognises_repeats=False,
        fork=True,
        compaction=True,
        queues_messages=False,  # it would mix what comes during a turn into that turn
        questions=True,  # in plan mode; elsewhere the model is refused the tool
        attachments=True,
        edited_input=False,
        denial_message=True,
        plan_mode=True,
        usage=True,
        project_files=frozenset({Program.CODEX}),
        ignores_project_files=True,
    )

    def __init__(self, settings: CodexSettings | None = None) -> None:
        self._settings = settings or CodexSettings()

    def check(self, environment: Mapping[str, str]) -> None:
        """Raises AgentUnavailable."""
        find_binary(self._settings.path, environment)

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest."""
        check_keys(session, SPEC.keys)
        own = provider_config(session)
        if own.get("sandbox") not in (None, *SANDBOXES):
            raise InvalidRequest(
                f"Unknown sandbox {own['sandbox'][:80]!r}: choose {', '.join(SANDBOXES)}", key="sandbox"
            )
        effort = own.get("effort", "low")
        if not effort.isalpha() or not effort.isascii() or len(effort) > _LONGEST_EFFORT:
            raise InvalidRequest(f"{effort[:80]!r} is not a valid effort: use low, medium or high", key="effort")

    def capabilities_for(self, _: NewSession) -> Capabilities:
        return self.capabilities

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        found, basis = _login(environment)
        try:
            path = str(find_binary(self._settings.path, environment))
        except AgentUnavailable as missing:
            status = ProgramStatus(login=found, login_basis=basis, missing=missing.message)
        else:
            refusal = self.login_refusal(environment)
            status = ProgramStatus(path, login=found, login_basis=basis, missing=refusal)
        return ProviderAbout(SPEC.title, status, SPEC.keys)

    def login_refusal(self, environment: Mapping[str, str]) -> str:
        """Without a login Codex would retry its API for half a minute, and then fail."""
        try:
            self.check(environment)
        except AgentUnavailable:
            return ""  # what is missing is the program, and `check` says so
        found, basis = _login(environment)
        if found is not Login.NO:
            return ""
        variable = key_of_provider(environment)
        remedy = "set it, as the config.toml of Codex says" if variable else "run `codex login`"
        return f"Codex is not logged in: {basis}; {remedy}"

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        """Raises AgentUnavailable."""
        return launch(find_binary(self._settings.path, context.environment), session, context)

    def open_dialogue(self, session: NewSession, state: State) -> Dialogue:
        return CodexDialogue(session, state)

    def encode(self, command: Command) -> bytes:
        """Raises InvalidRequest."""
        return commands.line(command)


def _login(environment: Mapping[str, str]) -> tuple[Login, str]:
    """Whether Codex has a key or an account, as files and variables tell."""
    variable = key_of_provider(environment)
    if variable:
        is_set = bool(environment.get(variable))
        return (Login.YES, f"{variable} is set") if is_set else (Login.NO, f"{variable} is not set")
    if stores_login_in_keyring(environment):
        return Login.UNKNOWN, "the login of Codex is in the system's keyring"
    file: Path = codex_home(environment) / "auth.json"
    with suppress(OSError, ValueError), file.open("rb") as auth:
        if json.loads(auth.read(_LONGEST_BYTES)):
            return Login.YES, str(file)
    return Login.NO, f"there is no {file}"
