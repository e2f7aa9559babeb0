"""The differences between agents that speak the protocol, found by running them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.project_files import Program

CAPABILITIES = Capabilities(
    resume=True,
    continues_broken_turn=False,
    interrupt=True,
    permissions=True,
    deltas=True,
    recognises_repeats=False,
    queues_messages=False,  # some mix a second prompt into the turn, some refuse it
    attachments=True,
    plan_mode=True,
    usage=True,
)


@dataclass(frozen=True, slots=True)
class Profile:
    """One program that speaks the protocol."""

    name: str
    title: str  # what people call it
    argv: tuple[str, ...] = ()  # the program's name, looked for on the PATH, and what it is started with
    env: Mapping[str, str] = field(default_factory=dict)  # added where the session's environment does not say otherwise
    mode: str = ""  # to be set, so that it asks before it acts
    plan_mode: str = "plan"  # the mode in which it only plans
    resumes: bool = True  # it can take a conversation up again, where it says so
    title_is_command: bool = False  # a command is shown as the title of its use, and nowhere else
    own_tool_names: bool = False  # its tools are named and given their input as Claude Code has them
    reject_ends_turn: bool = False  # a denied use of a tool ends its turn
    cancel_ends_command: bool = True  # a running command does not outlive a cancelled turn
    tells_cost: bool = False
    sets_model: bool = True  # by a request; otherwise it is told the model as it is started
    tells_errors: bool = False  # what it writes to stderr is for people, and no log
    tells_version: bool = False  # may be run with --version
    login: str = ""  # how a person logs in
    install: str = ""  # how it is got
    project_files: frozenset[Program] = frozenset()  # whose files of a project it reads; not known for any program
    env_trusted: Mapping[str, str] = field(default_factory=dict)  # says that a person trusts the project
    env_without_project: Mapping[str, str] = field(default_factory=dict)  # makes it ignore those; empty: nothing does
    capabilities: Capabilities = CAPABILITIES

    @property
    def able(self) -> Capabilities:
        return replace(
            self.capabilities,
            resume=self.resumes and self.capabilities.resume,
            goes_on_after_denial=not self.reject_ends_turn,
            ends_tools=self.cancel_ends_command,
            cost=self.tells_cost or self.capabilities.cost,
            project_files=self.project_files,
            ignores_project_files=bool(self.env_without_project),
        )
