"""The declaration of a provider: data that every layer reads, without the provider's code.

These are named tuples, because the command line reads specs to complete a word, and importing `dataclasses` would take
longer than everything else that it needs for that.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

_NO_KEYS: Mapping[str, str] = MappingProxyType({})


class Compatibility(StrEnum):
    """How well a version of an agent works; the values are the names of `v1.CompatibilityLevel`."""

    UNKNOWN = "COMPATIBILITY_UNKNOWN"
    FULL = "FULLY_COMPATIBLE"
    LIKELY = "LIKELY_COMPATIBLE"
    DEGRADED = "DEGRADED"


class VersionRange(NamedTuple):
    """From `first` up to the `first` of the next range."""

    first: str
    level: Compatibility
    limits: str = ""  # DEGRADED: what does not work, as the end of a sentence


class VersionSupport(NamedTuple):
    """The versions of an agent's program that this release was tested with."""

    ranges: tuple[VersionRange, ...]  # ascending; versions before the first are incompatible
    upgrade_url: str
    minimum: str = ""  # empty: no known minimum
    api_version: str = ""  # version of the model's API that the program uses; empty: unknown


def tested_with(version: str, *, unknown_from: str, upgrade_url: str) -> VersionSupport:
    """Support for a program that was tested in one version only; earlier versions are not known to fail."""
    return VersionSupport(
        (
            VersionRange("0", Compatibility.UNKNOWN),
            VersionRange(version, Compatibility.FULL),
            VersionRange(f"{version}.1", Compatibility.LIKELY),
            VersionRange(unknown_from, Compatibility.UNKNOWN),
        ),
        upgrade_url,
    )


class ValueKind(StrEnum):
    """The types that a provider's setting can have; `config` parses them."""

    TEXT = "text"
    CHOICE = "choice"  # one of `choices`
    NUMBER = "number"  # from `least` to `most`
    SWITCH = "switch"
    FILE = "file"  # an absolute path
    ADDRESS = "address"  # a URL with one of the schemes in `choices`
    VARIABLE = "variable"  # the name of an environment variable
    COMMANDS = "commands"  # programs with their arguments, by name


class ProviderSetting(NamedTuple):
    """The setting `agents.PROVIDER.NAME`."""

    name: str  # of a field in the provider's settings class, which has the default
    kind: ValueKind
    help: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None


class ApiKey(NamedTuple):
    """A key of a model's API in the configuration of obey's daemon."""

    name: str  # in `api_keys` of that file
    variable: str  # the environment variable that the agent reads


class ProviderSpec(NamedTuple):
    name: str  # on command lines, in settings and in the database
    title: str  # for people
    package: str  # its module `provider` has the function `create`
    obey_name: str = ""  # in the obey API; empty: it shows the provider `profile_of`, or an unspecified one
    obey_number: int = 0  # in the obey API's `SessionProvider`
    profile_of: str = ""  # the provider that has this one as a profile
    executable: str = ""  # the program to find on the PATH; empty: none, or given by the session
    executable_variable: str = ""  # environment variable of the daemon with the path of that program
    environment: tuple[str, ...] = ()  # variables (patterns) that a client sends for sessions of this provider only
    shared_environment: tuple[str, ...] = ()  # and for sessions of every provider
    inner_environment: tuple[str, ...] = ()  # set by the agent for its own child processes; never sent by a client
    # The variables with API keys that settings, `provider_config` and environment name.
    key_variables: Callable[[Any, Mapping[str, str], Mapping[str, str]], tuple[str, ...]] | None = None
    api_key: ApiKey | None = None
    keys: Mapping[str, str] = _NO_KEYS  # of `provider_config`, each with its meaning
    settings: tuple[ProviderSetting, ...] = ()
    defaults: Any = None  # the provider's settings, a named tuple of its own, with their default values
    extra_modules: tuple[str, ...] = ()  # modules that the extra of the same name installs
    versions: VersionSupport | None = None
    is_playable: bool = False  # the demo agent can play recordings of its sessions
