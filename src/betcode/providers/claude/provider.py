"""The provider for Claude Code."""

import logging
from collections.abc import Mapping
from pathlib import Path

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.project_files import Program
from betcode.domain.agents.provider_about import Login, ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import check_keys
from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.domain.errors import AgentUnavailable
from betcode.domain.release.compatibility import AGENTS
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.sessions.outside_turns import LastRun, OutsideTurns
from betcode.domain.store.rows import NewSession
from betcode.providers.claude import launch
from betcode.providers.claude.family import ClaudeFamily
from betcode.providers.claude.login import ADVICE, login
from betcode.providers.claude.models import model_refusal
from betcode.providers.claude.spec import SPEC
from betcode.providers.claude.transcripts import outside_turns as outside
from betcode.providers.registry import ProviderContext
from betcode.providers.stored_state import UnreadableState
from betcode.providers.versions import AgentVersions

logger = logging.getLogger(__name__)


def create(_: ProviderSpec, context: ProviderContext) -> "ClaudeProvider":
    return ClaudeProvider(context.executable, context.versions)


class ClaudeProvider(ClaudeFamily):
    """Implements `betcode.domain.ports.Provider`; `binary` None looks for `claude` on the session's PATH."""

    name = SPEC.name
    capabilities = Capabilities(
        resume=True,
        continues_broken_turn=True,
        interrupt=True,
        permissions=True,
        deltas=True,
        recognises_repeats=True,
        screens_calls=True,
        fork=True,
        compaction=True,
        withdraw=True,
        questions=True,
        attachments=True,
        edited_input=True,
        denial_message=True,
        plan_mode=True,
        usage=True,
        cost=True,
        project_files=frozenset({Program.CLAUDE}),
        ignores_project_files=True,
    )

    def __init__(self, binary: Path | None = None, versions: AgentVersions | None = None) -> None:
        self._binary = binary
        self._versions = versions

    def check(self, environment: Mapping[str, str]) -> None:
        """Raises AgentUnavailable."""
        self._found(environment)

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest."""
        check_keys(session, ())

    def capabilities_for(self, _: NewSession) -> Capabilities:
        return self.capabilities

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        found, basis = login(environment)
        title = SPEC.title
        try:
            path = str(self._found(environment))
        except AgentUnavailable as missing:
            return ProviderAbout(title, ProgramStatus(login=found, login_basis=basis, missing=missing.message))
        missing_login = f"{title} is not logged in: {ADVICE}" if found is Login.NO else ""
        return ProviderAbout(title, ProgramStatus(path, login=found, login_basis=basis, missing=missing_login))

    def model_refusal(self, model: str, environment: Mapping[str, str]) -> str:
        return model_refusal(model, environment)

    def outside_turns(
        self, session: NewSession, conversation_id: str, environment: Mapping[str, str], last: LastRun
    ) -> OutsideTurns | None:
        try:
            return outside.outside_turns(session, conversation_id, environment, last)
        except UnreadableState as trouble:
            logger.warning("the dialogue's state cannot be loaded (%s): no turns are imported", trouble)
            return None

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        """Raises AgentUnavailable."""
        return launch.launch(self._found(context.environment), session, context)

    async def version(self, environment: Mapping[str, str]) -> str:
        """The version of the program that such an environment finds; empty where there is none, or it says none."""
        if self._versions is None:
            return ""
        try:
            binary = await self._versions.bounded_read(lambda: launch.find_binary(self._binary, environment))
        except AgentUnavailable:
            return ""
        return "" if binary is None else await self._versions.of(binary)

    def _found(self, environment: Mapping[str, str]) -> Path:
        """The program to run. One whose version is known to be too old is not tried: it would fail less clearly."""
        binary = launch.find_binary(self._binary, environment)
        agent = AGENTS[self.name]
        version = self._versions.known(binary) if self._versions is not None else None
        if version and (refusal := agent.refusal(version)):
            raise AgentUnavailable(
                f"{refusal}: upgrade it ({agent.upgrade_url})", path=str(binary), upgrade_url=agent.upgrade_url
            )
        return binary
