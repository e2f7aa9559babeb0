"""Which kinds of agents this daemon can run, and which one when nobody says."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from betcode.domain.ports import Provider
from betcode.providers.claude import ClaudeProvider
from betcode.providers.demo import DemoProvider


@dataclass(frozen=True, slots=True)
class Found:
    providers: Mapping[str, Provider]
    default: str


def find_providers(environ: Mapping[str, str], claude_bin: Path | None) -> Found:
    """Claude where it is named or found, the built-in demo always; claude is the default where there is one."""
    binary = claude_bin or _from_environment(environ)
    providers: tuple[Provider, ...] = (ClaudeProvider(binary), DemoProvider())
    return Found({each.name: each for each in providers}, "claude" if binary else "demo")


def _from_environment(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("BETCODE_CLAUDE_BIN"):
        return Path(named).expanduser()
    found = shutil.which("claude", path=environ.get("PATH", ""))
    return Path(found) if found else None
