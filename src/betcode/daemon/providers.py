"""Which kinds of agents this daemon can run, and which one when nobody says."""

import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from betcode.config.agent_settings import AgentSettings
from betcode.domain.errors import AgentUnavailable
from betcode.domain.ports import Provider
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.registry import MAKERS, Providers
from betcode.providers.versions import AgentVersions


@dataclass(frozen=True, slots=True)
class Found:
    providers: Mapping[str, Provider]
    default_for: Callable[[Mapping[str, str]], Awaitable[str]]  # the provider of a new session with this environment
    close: Callable[[], None]  # leaves no program behind that is being asked for its version
    version_of: Callable[[Path], Awaitable[str]]  # what a program says; empty: none, or not soon enough
    claude_version: Callable[[], Awaitable[str]]  # of the program that the daemon itself finds; empty: not known
    trouble: Callable[[], str]  # why the default agent cannot be run, where somebody counts on it; empty: it can


def find_providers(
    environ: Mapping[str, str], claude_bin: Path | None, agents: AgentSettings | None = None, default: str = ""
) -> Found:
    """Every kind of agent; `default` is what the settings say, where they do, and then nobody counts on another.

    Otherwise claude is the default where it is named or found, otherwise the built-in demo.

    It is looked for anew for each session, on the session's own PATH first: who installs it while the daemon runs
    need not start the daemon again.
    """
    named = claude_bin or _named(environ)
    versions = AgentVersions(environ)
    claude = ClaudeProvider(named, versions)
    providers = Providers({"claude": lambda _: claude, **MAKERS}, agents or AgentSettings())
    was_found = shutil.which("claude", path=environ.get("PATH", "")) is not None

    def trouble() -> str:
        if not default and named is None and not was_found:
            return ""  # nobody counts on it: the built-in demo is the default
        try:
            providers[default or "claude"].check(environ)
        except AgentUnavailable as missing:
            return missing.message
        return ""

    async def default_for(environment: Mapping[str, str]) -> str:
        if default:
            return default
        is_found = True if named is not None else await versions.looked(partial(_is_on_a_path, environment, environ))
        # Where the disk of a PATH does not answer, the start of the daemon decides.
        return "claude" if (was_found if is_found is None else is_found) else "demo"

    return Found(
        providers,
        default_for,
        versions.close,
        versions.of,
        lambda: claude.version(environ),
        trouble,
    )


def _is_on_a_path(*environments: Mapping[str, str]) -> bool:
    return any(shutil.which("claude", path=each.get("PATH", "")) for each in environments)


def _named(environ: Mapping[str, str]) -> Path | None:
    named = environ.get("BETCODE_CLAUDE_BIN")
    return Path(named).expanduser() if named else None
