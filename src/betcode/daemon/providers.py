"""Which kinds of agents this daemon can run, and which one when nobody says."""

import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from betcode.domain.errors import AgentUnavailable
from betcode.domain.ports import Provider
from betcode.providers.claude import AgentVersions, ClaudeProvider
from betcode.providers.demo import DemoProvider


@dataclass(frozen=True, slots=True)
class Found:
    providers: Mapping[str, Provider]
    default_for: Callable[[Mapping[str, str]], str]  # the provider of a new session with this environment
    close: Callable[[], None]  # leaves no program behind that is being asked for its version
    claude_version: Callable[[], Awaitable[str]]  # of the program that the daemon itself finds; empty: not known
    trouble: Callable[[], str]  # why claude cannot be run, where it was named or found at the start; empty: it can


def find_providers(environ: Mapping[str, str], claude_bin: Path | None) -> Found:
    """Claude and the built-in demo; claude is the default where it is named or found.

    It is looked for anew for each session, on the session's own PATH first: who installs it while the daemon runs
    need not start the daemon again.
    """
    named = claude_bin or _named(environ)
    versions = AgentVersions(environ)
    claude = ClaudeProvider(named, versions)
    providers: tuple[Provider, ...] = (claude, DemoProvider())
    was_found = shutil.which("claude", path=environ.get("PATH", "")) is not None

    def trouble() -> str:
        if named is None and not was_found:
            return ""  # nobody counts on it: the built-in demo is the default
        try:
            claude.check(environ)
        except AgentUnavailable as missing:
            return missing.message
        return ""

    def default_for(environment: Mapping[str, str]) -> str:
        on_a_path = any(shutil.which("claude", path=each.get("PATH", "")) for each in (environment, environ))
        return "claude" if named is not None or on_a_path else "demo"

    return Found(
        {each.name: each for each in providers},
        default_for,
        versions.close,
        lambda: claude.version(environ),
        trouble,
    )


def _named(environ: Mapping[str, str]) -> Path | None:
    named = environ.get("BETCODE_CLAUDE_BIN")
    return Path(named).expanduser() if named else None
