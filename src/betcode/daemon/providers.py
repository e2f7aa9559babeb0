"""The providers of this daemon, and which one a session gets if it names none."""

import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from betcode.config.agent_settings import AgentSettings
from betcode.domain.agents.provider_about import KnowsVersion
from betcode.domain.errors import AgentUnavailable
from betcode.domain.ports import Provider
from betcode.providers.registry import ProviderContext, Providers
from betcode.providers.specs import DEFAULT, FALLBACK
from betcode.providers.versions import AgentVersions


@dataclass(frozen=True, slots=True)
class AvailableProviders:
    providers: Mapping[str, Provider]
    default_for: Callable[[Mapping[str, str]], Awaitable[str]]  # the provider of a new session with this environment
    close: Callable[[], None]  # ends programs that are being asked for their version
    version_of: Callable[[Path], Awaitable[str]]  # of a program; empty: it reports none, or not in time
    default_version: Callable[[], Awaitable[str]]  # of the program that the daemon itself finds; empty: unknown
    trouble: Callable[[], str]  # why the default agent cannot run, if a user relies on it; empty: it can


def find_providers(
    environ: Mapping[str, str], executable: Path | None, agents: AgentSettings | None = None, default: str = ""
) -> AvailableProviders:
    """All providers; `default` is the one that the settings name, if they name one.

    Otherwise sessions get the default provider if its program is named or found, and the built-in one if not. The
    program is searched for each session again, first on the session's own PATH: after an installation, nobody needs to
    restart the daemon.
    """
    named = executable or _named(environ)
    versions = AgentVersions(environ)
    providers = Providers(ProviderContext(agents or AgentSettings(), named, versions))
    usual = providers[DEFAULT.name]  # created now: the first session does not wait for its import
    was_found = shutil.which(DEFAULT.executable, path=environ.get("PATH", "")) is not None

    def trouble() -> str:
        if not default and named is None and not was_found:
            return ""  # nobody relies on it: the built-in provider is the default
        try:
            providers[default or DEFAULT.name].check(environ)
        except AgentUnavailable as missing:
            return missing.message
        return ""

    async def default_for(environment: Mapping[str, str]) -> str:
        if default:
            return default
        is_found = (
            True if named is not None else await versions.bounded_read(partial(_is_on_a_path, environment, environ))
        )
        # If the disk of a PATH does not answer, the result at the daemon's start decides.
        return DEFAULT.name if (was_found if is_found is None else is_found) else FALLBACK.name

    async def default_version() -> str:
        return await usual.version(environ) if isinstance(usual, KnowsVersion) else ""

    return AvailableProviders(providers, default_for, versions.close, versions.of, default_version, trouble)


def _is_on_a_path(*environments: Mapping[str, str]) -> bool:
    return any(shutil.which(DEFAULT.executable, path=each.get("PATH", "")) for each in environments)


def _named(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(DEFAULT.executable_variable)
    return Path(named).expanduser() if named else None
