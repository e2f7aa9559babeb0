"""Selects the session's variables that the model's shell commands see: all except possible keys."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from betcode.domain.values.secrets import is_secret_name, redacted
from betcode.util.user import home_directory

# What Codex itself hands on under `inherit = "core"`.
_CORE = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP"})
_TELLING = re.compile(
    r"(?:\A|_)(?:\w*KEYS?|\w*SECRETS?|\w*TOKENS?|PASS|\w*PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?|COOKIES?|AUTH|BEARER)"
    r"(?:\Z|_)",
    re.IGNORECASE,
)
_NO_KEYS = frozenset({"SSH_AUTH_SOCK"})  # where somebody is who has them, as every program of the user may ask
_LONGEST_BYTES = 1024 * 1024  # of a configuration file
_LONGEST_VALUE = 32 * 1024
_CONFIG = "config.toml"


def codex_home(environment: Mapping[str, str]) -> Path:
    """Where Codex keeps its configuration, its login and its threads."""
    named = environment.get("CODEX_HOME")
    return Path(named) if named else home_directory(environment) / ".codex"


def policy(environment: Mapping[str, str], directory: Path) -> dict[str, Any]:
    """Codex's `shell_environment_policy` for a session: the core of its environment, and what is no key of the rest.

    A key is told by its name, by its look, or because a configuration of Codex names it as one.
    """
    keys = set(_named_as_keys(environment, directory))
    shown = {name: value for name, value in environment.items() if name not in _CORE and name not in keys}
    shown = {name: value for name, value in shown.items() if not _may_be_a_key(name, value)}
    return {"inherit": "core", "ignore_default_excludes": False, "set": dict(sorted(shown.items()))}


def key_of_provider(environment: Mapping[str, str]) -> str:
    """The variable that the configured provider of models takes its key from; empty: it has a login of its own."""
    config = _read(codex_home(environment) / _CONFIG)
    providers = config.get("model_providers")
    own = providers.get(config.get("model_provider")) if isinstance(providers, dict) else None
    key = own.get("env_key") if isinstance(own, dict) else None
    return key if isinstance(key, str) else ""


def stores_login_in_keyring(environment: Mapping[str, str]) -> bool:
    """Whether Codex may have its login where no file tells of it."""
    return _read(codex_home(environment) / _CONFIG).get("cli_auth_credentials_store") in ("keyring", "auto")


def _may_be_a_key(name: str, value: str) -> bool:
    if name in _NO_KEYS:
        return False
    telling = is_secret_name(name) or _TELLING.search(name) is not None
    return telling or len(value) > _LONGEST_VALUE or redacted(f"{name}={value}") != f"{name}={value}"


def _named_as_keys(environment: Mapping[str, str], directory: Path) -> Iterator[str]:
    """The variables that a provider of models, or an MCP server, takes a key or a header from."""
    for place in (codex_home(environment), *(each / ".codex" for each in (directory, *directory.parents))):
        yield from _keys_in(_read(place / _CONFIG))


def _keys_in(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        if isinstance(item, str) and name in ("env_key", "bearer_token_env_var"):
            yield item
        elif isinstance(item, dict) and name == "env_http_headers":
            yield from (header for header in item.values() if isinstance(header, str))
        else:
            yield from _keys_in(item)


def _read(path: Path) -> dict[str, Any]:
    """What the file says; nothing where there is none, or Codex could not read it either."""
    try:
        with path.open("rb") as file:
            return tomllib.loads(file.read(_LONGEST_BYTES).decode())
    except (OSError, ValueError):
        return {}
