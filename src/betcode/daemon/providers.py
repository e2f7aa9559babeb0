"""Find the kinds of agents that this daemon can run, and the default one."""

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
    close: Callable[[], None]  # ends programs that are being asked for their version
    version_of: Callable[[Path], Awaitable[str]]  # a program's version; empty: none, or not in time
    claude_version: Callable[[], Awaitable[str]]  # of the program that the daemon itself finds; empty: unknown
    trouble: Callable[[], str]  # why the default agent cannot be run, if it is required; empty: it can


def find_providers(
    environ: Mapping[str, str], claude_bin: Path | None, agents: AgentSettings | None = None, default: str = ""
) -> Found:
    """Return every kind of agent; `default` is the configured one, if any.

    Otherwise claude is the default if it is configured or found, otherwise the built-in demo.

    The program is searched again for each session, first on the session's own PATH: after an installation the daemon
    need not be restarted.
    """
    named = claude_bin or _named(environ)
    versions = AgentVersions(environ)
    claude = ClaudeProvider(named, versions)
    providers = Providers({"claude": lambda _: claude, **MAKERS}, agents or AgentSettings())
    was_found = shutil.which("claude", path=environ.get("PATH", "")) is not None

    def trouble() -> str:
        if not default and named is None and not was_found:
            return ""  # not required: the built-in demo is the default
        try:
            providers[default or "claude"].check(environ)
        except AgentUnavailable as missing:
            return missing.message
        return ""

    async def default_for(environment: Mapping[str, str]) -> str:
        if default:
            return default
        is_found = True if named is not None else await versions.looked(partial(_is_on_a_path, environment, environ))
        # If the disk of a PATH does not answer, the start of the daemon decides.
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
