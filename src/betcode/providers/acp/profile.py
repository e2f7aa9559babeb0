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
    title: str  # its name in messages
    argv: tuple[str, ...] = ()  # the program's name, which is searched on the PATH, and its arguments
    env: Mapping[str, str] = field(default_factory=dict)  # defaults; the session's environment overrides them
    mode: str = ""  # the mode to set, so that the agent asks before it acts
    plan_mode: str = "plan"  # the mode in which the agent only plans
    resumes: bool = True  # it can resume a conversation, if it also reports that capability
    title_is_command: bool = False  # only the title of a tool call contains the command
    own_tool_names: bool = False  # its tools have the names and inputs of Claude Code's tools
    reject_ends_turn: bool = False  # a denied tool call ends the turn
    cancel_ends_command: bool = True  # cancelling a turn ends its running command
    reports_cost: bool = False
    sets_model: bool = True  # a request sets the model; otherwise the launch does
    shows_stderr: bool = False  # its stderr is for people and not a log
    has_version_option: bool = False  # it supports --version
    login: str = ""  # advice how to log in
    install: str = ""  # the command that installs it
    project_files: frozenset[Program] = frozenset()  # programs whose project files it reads; unknown for `generic`
    env_trusted: Mapping[str, str] = field(default_factory=dict)  # set if a person trusts the project
    env_without_project: Mapping[str, str] = field(default_factory=dict)  # make it ignore project files, if possible
    capabilities: Capabilities = CAPABILITIES

    @property
    def able(self) -> Capabilities:
        return replace(
            self.capabilities,
            resume=self.resumes and self.capabilities.resume,
            goes_on_after_denial=not self.reject_ends_turn,
            ends_tools=self.cancel_ends_command,
            cost=self.reports_cost or self.capabilities.cost,
            project_files=self.project_files,
            ignores_project_files=bool(self.env_without_project),
        )
