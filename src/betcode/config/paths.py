"""The paths of state, settings and sockets, chosen by flag, environment or platform convention."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from betcode.util.user import home_directory

if TYPE_CHECKING:
    from betcode.config.tcp_address import TcpAddress  # costs every command, and few need it

_APP = "betcode"
_OBEY = "obey"
RUNTIME_DIRECTORIES = Path("/run/user")  # each user has one below it, named by the uid


@dataclass(frozen=True, slots=True)
class Remote:
    """The address of a remote daemon, and the credentials for it."""

    address: "TcpAddress"
    token_file: Path
    tls_ca: Path | None = None  # trusted certificates; None: the system's authorities


@dataclass(frozen=True, slots=True)
class Paths:
    """Absolute paths; computing them creates nothing."""

    state_dir: Path  # database, journals, locks
    config_dir: Path  # settings.json
    socket: Path  # the gRPC socket; its directory is private
    remote: Remote | None = None  # a daemon that is reached by TCP instead of the socket
    obey: Path | None = None  # the socket of the obey API; None: next to the state

    @property
    def obey_socket(self) -> Path:
        return self.obey or self.state_dir / "obey.sock"

    @property
    def ticket_socket(self) -> Path:
        return self.socket.with_name(self.socket.name + ".ticket")

    @property
    def database(self) -> Path:
        return self.state_dir / "betcode.db"

    @property
    def runs(self) -> Path:
        return self.state_dir / "runs"

    @property
    def set_aside(self) -> Path:
        """Return the directory to which `betcode doctor --repair` moves unusable files."""
        return self.state_dir / "set-aside"

    @property
    def lock(self) -> Path:
        return self.state_dir / "daemon.lock"

    @property
    def daemon_log(self) -> Path:
        return self.state_dir / "daemon.log"


def choose_paths(
    environ: Mapping[str, str],
    *,
    state_dir: Path | None = None,
    config_dir: Path | None = None,
    socket: Path | None = None,
) -> Paths:
    """A flag wins over its BETCODE_ variable, which wins over the platform's habit."""
    home = home_directory(environ)
    config = _chosen(config_dir, environ.get("BETCODE_CONFIG_DIR")) or _config_home(environ, home) / _APP
    default_state = _state_home(environ, home) / _APP
    state = _chosen(state_dir, environ.get("BETCODE_STATE_DIR")) or default_state
    chosen_socket = _chosen(socket, environ.get("BETCODE_SOCKET"))
    # Another state directory means another daemon: it must not use the usual sockets. Naming the default directory
    # changes nothing: commands start the daemon with the directory that they use.
    own_state = state != default_state
    runtime = None if own_state else _runtime_directory(environ)
    if chosen_socket is None:
        usual = config / "daemon.sock" if runtime is None else runtime / _APP / "daemon.sock"
        chosen_socket = state / "daemon.sock" if own_state else usual
    obey = None if runtime is None else runtime / _OBEY / "daemon.sock"
    return Paths(state_dir=state, config_dir=config, socket=chosen_socket, obey=obey)


def _runtime_directory(environ: Mapping[str, str]) -> Path | None:
    runtime = _xdg(environ, "XDG_RUNTIME_DIR") or RUNTIME_DIRECTORIES / str(os.getuid())
    return runtime if runtime.is_dir() and os.access(runtime, os.W_OK) else None


def _chosen(flag: Path | None, variable: str | None) -> Path | None:
    if flag is not None:
        return flag.expanduser().absolute()
    return Path(variable).expanduser().absolute() if variable else None


def _config_home(environ: Mapping[str, str], home: Path) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return _xdg(environ, "XDG_CONFIG_HOME") or home / ".config"


def _state_home(environ: Mapping[str, str], home: Path) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return _xdg(environ, "XDG_STATE_HOME") or home / ".local" / "state"


def _xdg(environ: Mapping[str, str], name: str) -> Path | None:
    """Return an XDG path; a relative one counts as unset, as the XDG rules say, because its meaning would depend on the
    directory.
    """
    path = Path(environ.get(name, ""))
    return path if path.is_absolute() else None
