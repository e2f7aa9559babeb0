"""The paths of a gateway that betcode starts, and the lookup of tokens."""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from betcode.agents.openclaw.json5 import read_json5
from betcode.util.atomic_files import create_file

TOKEN_VARIABLE = "OPENCLAW_GATEWAY_TOKEN"  # noqa: S105 the name of a variable
_USUAL_PORT = 18789
_LONGEST = 4096
_HERE = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class GatewayPaths:
    """Below betcode's state directory, private to its user."""

    root: Path

    @property
    def token(self) -> Path:
        return self.root / "token"

    @property
    def config(self) -> Path:
        return self.root / "openclaw.json"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def workspace(self) -> Path:
        """Return where its agent stores its memory."""
        return self.root / "workspace"

    @property
    def log(self) -> Path:
        return self.root / "gateway.log"

    @property
    def pid(self) -> Path:
        return self.root / "gateway.pid"

    @property
    def lock(self) -> Path:
        return self.root / "gateway.lock"

    @property
    def trouble(self) -> Path:
        """Return why the last start failed."""
        return self.root / "gateway.trouble"

    @property
    def shown(self) -> Path:
        """Return how far each session was shown."""
        return self.root / "shown"


def make_token(path: Path) -> str:
    """Return the existing token, or create one; a concurrent caller gets the first one's.

    Raises: OSError, ValueError.
    """
    if not path.exists():
        create_file(path, f"{secrets.token_urlsafe(32)}\n".encode())
    return read_token(path)


def read_token(path: Path) -> str:
    """Raises OSError, ValueError."""
    with path.open("rb") as file:
        token = os.read(file.fileno(), _LONGEST + 1).decode().strip()
    if not token or len(token) > _LONGEST or not (token.isascii() and token.isprintable()):
        raise ValueError(f"{path} does not hold one")
    return token


def find_token(url: str, token_file: Path | None, own: Path | None, environ: Mapping[str, str]) -> str:
    """The one that is named; at an address of this machine also a person's own gateway's, or that of ours.

    Raises: OSError, ValueError.
    """
    if token_file is not None:
        return read_token(token_file)
    if named := environ.get(TOKEN_VARIABLE):
        return named
    parts = urlsplit(url)
    if parts.hostname not in _HERE:
        return ""  # no other session is shown what was not sent to it
    config = users_config(environ)
    gateway = config.get("gateway")
    if isinstance(gateway, dict) and gateway.get("port", _USUAL_PORT) == parts.port:
        auth = gateway.get("auth")
        token = auth.get("token") if isinstance(auth, dict) else None
        if isinstance(token, str) and token:
            return environ.get(token[2:-1], "") if token.startswith("${") and token.endswith("}") else token
    if own is not None:
        with suppress(FileNotFoundError):
            return read_token(own)
    return ""


def users_config(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return a person's configuration of their own gateway; empty if there is none that can be read."""
    home = environ.get("HOME")
    named = environ.get("OPENCLAW_CONFIG_PATH") or (f"{home}/.openclaw/openclaw.json" if home else "")
    try:
        found = read_json5(Path(named).read_text()) if named else None
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def own_config(port: int, token: str, places: GatewayPaths, users: Mapping[str, Any]) -> str:
    """Return the configuration of our gateway: only on this machine, with the person's models."""
    defaults: dict[str, Any] = {"workspace": str(places.workspace), "skipBootstrap": True}
    agents = users.get("agents")
    theirs = agents.get("defaults") if isinstance(agents, dict) else None
    if isinstance(theirs, dict) and "model" in theirs:
        defaults["model"] = theirs["model"]
    config: dict[str, Any] = {
        "gateway": {"mode": "local", "bind": "loopback", "port": port, "auth": {"mode": "token", "token": token}},
        "update": {"checkOnStart": False},
        "agents": {"defaults": defaults},
    }
    if isinstance(users.get("models"), dict):
        config["models"] = users["models"]
    return json.dumps(config, indent=2) + "\n"
