"""The facts about a provider on this machine before anything is started."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, runtime_checkable

_NONE: Mapping[str, str] = MappingProxyType({})


class Login(StrEnum):
    """Whether the agent has credentials for its model's API; determined only from files and variables."""

    UNKNOWN = "unknown"
    YES = "yes"
    NO = "no"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    """A program that is an agent, or what would be one if it were there."""

    path: str = ""  # of the program; empty: it was not found, or is part of betcode
    version: str = ""  # if known without running the program
    tells_version: bool = True  # the program at `path` may be run with --version
    login: Login = Login.UNKNOWN
    login_basis: str = ""  # the evidence: "OPENAI_API_KEY is set", "~/.codex/auth.json is there"
    is_configured: bool = False  # the settings name it
    missing: str = ""  # why it cannot be used and the remedy, as a sentence; empty: no known problem


@dataclass(frozen=True, slots=True)
class ProviderAbout:
    title: str  # for people: "Codex CLI"
    standing: ProgramStatus
    keys: Mapping[str, str] = field(default_factory=lambda: _NONE)  # of provider_config, each with its description
    # The agents that one kind has, by the value of provider_config.profile.
    profiles: Mapping[str, ProgramStatus] = field(default_factory=lambda: MappingProxyType({}))


@runtime_checkable
class KnowsVersion(Protocol):
    """A provider that finds its program by itself, and can report its version."""

    async def version(self, environment: Mapping[str, str]) -> str:
        """Return the version of the program that this environment finds; empty: no program, or no known version."""
        ...


@runtime_checkable
class KnowsLogin(Protocol):
    """The optional interface of a provider that can detect a missing login with certainty."""

    def login_refusal(self, environment: Mapping[str, str]) -> str:
        """Return what is missing and how to log in, as a sentence; empty with a login, and if unknown."""
        ...
