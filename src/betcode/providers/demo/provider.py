"""Builds the command line of the demo agent."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from betcode._version import __version__
from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.provider_about import Login, ProgramStatus, ProviderAbout
from betcode.domain.agents.provider_config import check_keys
from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.providers.claude.family import ClaudeFamily
from betcode.providers.claude.slash_commands import greeting
from betcode.providers.demo.spec import SPEC
from betcode.providers.registry import ProviderContext

# How a session's environment, which its client chooses, directs the demo agent: for tests, benchmarks and bug reports.
_FLAGS: Mapping[str, str] = {
    "BETCODE_DEMO_SPEED": "--speed",  # 1: as recorded, 0: as fast as possible
    "BETCODE_DEMO_CASSETTE": "--cassette",  # a recording, or the directory of a journal, to play
    "BETCODE_DEMO_FLOOD": "--flood",  # answer each message with so many text deltas,
    "BETCODE_DEMO_RATE": "--rate",  # so many a second (0: without pauses),
    "BETCODE_DEMO_BYTES": "--bytes",  # each so long
}


def create(_: ProviderSpec, __: ProviderContext) -> "DemoProvider":
    return DemoProvider()


class DemoProvider(ClaudeFamily):
    """Our own agent program that plays recordings; it needs nothing and is always there."""

    name = SPEC.name
    capabilities = Capabilities(
        resume=True,
        continues_broken_turn=False,  # a message that is sent again begins its recording again
        interrupt=True,
        permissions=True,
        deltas=True,
        recognises_repeats=True,  # and a recording has no effects that could happen twice
        withdraw=True,
        fork=True,  # it remembers nothing, so that there is nothing to branch off
        questions=True,
        attachments=True,
        edited_input=True,
        denial_message=True,
        plan_mode=True,
        usage=True,
        cost=True,
    )

    def check(self, environment: Mapping[str, str]) -> None:
        """It is part of this program, so nothing can be missing."""

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest."""
        check_keys(session, ())

    def capabilities_for(self, _: NewSession) -> Capabilities:
        return self.capabilities

    def about(self, _: Mapping[str, str]) -> ProviderAbout:
        return ProviderAbout(SPEC.title, ProgramStatus(version=__version__, login=Login.NOT_NEEDED))

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        return Launch(
            argv=(sys.executable, "-I", "-m", "betcode.agents.demo", *_flags(session, context)),
            env=context.environment,
            cwd=Path(session.working_directory),
            opening=greeting(time_ordered_uuid()),
        )


def _flags(session: NewSession, context: LaunchContext) -> Iterator[str]:
    yield f"--{'resume' if context.resume else 'session-id'}={context.conversation_id}"
    if session.model:
        yield f"--model={session.model}"
    if session.allowed_tools:
        yield f"--allowed-tools={','.join(session.allowed_tools)}"
    if session.plan_mode:
        yield "--permission-mode=plan"
    for variable, flag in _FLAGS.items():
        if value := context.environment.get(variable):
            yield f"{flag}={value}"
