"""Checks from files and variables whether Claude Code is logged in, without calling the model."""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from betcode.domain.agents.provider_about import Login
from betcode.util.user import home_directory

ADVICE = "run `claude` and /login, or set ANTHROPIC_API_KEY"
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_ELSEWHERE = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_BASE_URL")
_LONGEST_BYTES = 1024 * 1024


def login(environment: Mapping[str, str]) -> tuple[Login, str]:
    """Whether it is, and how that is known."""
    for name in (*_KEYS, *_ELSEWHERE):
        if environment.get(name):
            return Login.YES, f"{name} is set"
    home = Path(environment.get("CLAUDE_CONFIG_DIR") or home_directory(environment) / ".claude")
    if _has(home / ".credentials.json", "claudeAiOauth"):
        return Login.YES, str(home / ".credentials.json")
    if _has(home / "settings.json", "apiKeyHelper"):
        return Login.YES, f"apiKeyHelper of {home / 'settings.json'}"
    if sys.platform == "darwin":
        return Login.UNKNOWN, "the login is in the keychain, which betcode does not read"
    return Login.NO, "there is no key in the environment, and no login in " + str(home)


def _has(path: Path, key: str) -> bool:
    with suppress(OSError, ValueError), path.open("rb") as file:
        values = json.loads(file.read(_LONGEST_BYTES))
        return isinstance(values, dict) and bool(values.get(key))
    return False
