"""The launch of an agent process, and the values that it depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from betcode.domain.agents.project_files import ProjectFiles


@dataclass(frozen=True, slots=True)
class Launch:
    """How one agent process is started."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path = Path("/")
    opening: bytes = field(default=b"", repr=False)  # the first it reads, there before it does anything
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # to be written next to its journal
    links: Mapping[str, Path] = field(default_factory=dict)  # symbolic links to make there


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The rules that an agent gets at its start, in its own format, so that it enforces them as well."""

    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OnlyRules:
    """All permission rules of an agent, in its own format: the lists in its settings files do not count."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """The facts that a launch depends on besides the session's own values."""

    conversation_id: str
    resume: bool  # the agent has a transcript under that id
    continue_turn: bool  # its last turn was broken off
    environment: Mapping[str, str] = field(repr=False)
    plan_mode: bool | None = None  # as the conversation left it; None: as the session was created
    chosen: Mapping[str, str] = field(default_factory=dict)  # `DialogueView.chosen` of the process before
    fork_point: str = (
        ""  # the point in another conversation where this one begins; only before it has its own transcript
    )
    forbidden: Forbidden = Forbidden()
    only_rules: OnlyRules | None = None  # instead of `forbidden` and of the rules in the agent's own files
    screens_calls: bool = False  # it is to ask about every use of a tool
    run_dir: Path = Path("/")  # where `Launch.files` and `Launch.links` will be
    project_files: ProjectFiles = ProjectFiles.LOADED
    project_directories: tuple[str, ...] = ()  # the working directory and its repository, by all their names
