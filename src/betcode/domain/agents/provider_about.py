"""What is known about a provider on this machine before anything is started."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, runtime_checkable

_NONE: Mapping[str, str] = MappingProxyType({})


class Login(StrEnum):
    """Whether the agent has what it needs to be let in by its model's API; told from files and variables alone."""

    UNKNOWN = "unknown"
    YES = "yes"
    NO = "no"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    """A program that is an agent, or what would be one if it were there."""

    path: str = ""  # of the program; empty: it was not found, or is part of betcode
    version: str = ""  # where it is known without asking the program
    tells_version: bool = True  # the program at `path` may be run with --version
    login: Login = Login.UNKNOWN
    login_basis: str = ""  # how that is known: "OPENAI_API_KEY is set", "~/.codex/auth.json is there"
    is_configured: bool = False  # the settings name it
    missing: str = ""  # what keeps it from being used and what to do, as a sentence; empty: nothing that is known


@dataclass(frozen=True, slots=True)
class ProviderAbout:
    title: str  # for people: "Codex CLI"
    standing: ProgramStatus
    keys: Mapping[str, str] = field(default_factory=lambda: _NONE)  # of provider_config, each with what it does
    # The agents that one kind has, by the value of provider_config.profile.
    profiles: Mapping[str, ProgramStatus] = field(default_factory=lambda: MappingProxyType({}))


@runtime_checkable
class KnowsVersion(Protocol):
    """A provider that finds its program by itself, and can report its version."""

    async def version(self, environment: Mapping[str, str]) -> str:
        """The version of the program that this environment finds; empty: no program, or no known version."""
        ...


@runtime_checkable
class KnowsLogin(Protocol):
    """A provider that is certain when a login is missing may be one of these beside all else."""

    def login_refusal(self, environment: Mapping[str, str]) -> str:
        """What is missing and how to log in, as a sentence; empty with a login, and where nobody can know."""
        ...
