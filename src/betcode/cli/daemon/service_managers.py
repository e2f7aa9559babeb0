"""Service managers: systemctl and launchctl, called with argument lists."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.daemon.service_units import Service, is_for, launchd_agent, systemd_unit
from betcode.proc import RunResult, run_blocking

_WITHIN_S = 330.0  # a start may take as long as the unit allows
_LINGER = Path("/var/lib/systemd/linger")


class Manager(Protocol):
    """Manages one service, whose file is at `path`."""

    path: Path

    def text(self, service: Service) -> bytes: ...
    def refuse_where_it_is_not(self) -> None:
        """Raises CommandFailed if the manager is not running."""

    def reload(self) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def is_running(self) -> bool: ...


class Systemd:
    """The user's systemd, `systemctl --user`."""

    def __init__(self, name: str) -> None:
        config = os.environ.get("XDG_CONFIG_HOME", "")
        home = Path(config) if Path(config).is_absolute() else Path.home() / ".config"
        self.unit = f"{name}.service"
        self.path = home / "systemd" / "user" / self.unit

    def text(self, service: Service) -> bytes:
        return systemd_unit(service).encode()

    def refuse_where_it_is_not(self) -> None:
        if not shutil.which("systemctl"):
            raise CommandFailed(
                "systemd is not available on this machine; start the daemon with `betcode daemon start`",
                ExitCode.INVALID_ARGUMENTS,
            )
        if _query("systemctl", "--user", "show", "--property=Version").code:
            raise CommandFailed(
                "No systemd user session here. `betcode daemon install --print` prints the unit file",
                ExitCode.INVALID_ARGUMENTS,
            )

    def reload(self) -> None:
        _run("systemctl", "--user", "daemon-reload")

    def start(self) -> None:
        _run("systemctl", "--user", "reset-failed", self.unit, may_fail=True)
        _run("systemctl", "--user", "enable", "--quiet", self.unit)
        _run("systemctl", "--user", "restart", self.unit)

    def stop(self) -> None:
        _run("systemctl", "--user", "disable", "--quiet", "--now", self.unit)

    def is_running(self) -> bool:
        return _query("systemctl", "--user", "is-active", "--quiet", self.unit).code == 0


class Launchd:
    """The user's domain of launchd."""

    def __init__(self, name: str) -> None:
        self.label = f"dev.betcode.{name}"
        self.path = Path.home() / "Library" / "LaunchAgents" / f"{self.label}.plist"
        self._domain = f"gui/{os.getuid()}"

    def text(self, service: Service) -> bytes:
        return launchd_agent(service, self.label)

    def refuse_where_it_is_not(self) -> None:
        if not shutil.which("launchctl"):
            raise CommandFailed("launchd is not available on this machine", ExitCode.INVALID_ARGUMENTS)

    def reload(self) -> None:
        """Do nothing: launchd reads the file when the service starts."""

    def start(self) -> None:
        _run("launchctl", "bootout", f"{self._domain}/{self.label}", may_fail=True)
        _run("launchctl", "bootstrap", self._domain, str(self.path))

    def stop(self) -> None:
        _run("launchctl", "bootout", f"{self._domain}/{self.label}", may_fail=True)

    def is_running(self) -> bool:
        return _query("launchctl", "print", f"{self._domain}/{self.label}").code == 0


def start_by_service(state_dir: Path, name: str = "betcode") -> Sequence[str] | None:
    """Return the command that starts the daemon of that state directory as a systemd service; None without a service.

    A daemon beside the service would prevent the service from starting at the next login.
    """
    systemd = Systemd(name)
    try:
        is_ours = is_for(systemd.path.read_text(errors="replace"), state_dir)
    except OSError:
        return None
    systemctl = shutil.which("systemctl")
    if not is_ours or not systemctl or _query(systemctl, "--user", "is-enabled", "--quiet", systemd.unit).code:
        return None
    return [systemctl, "--user", "start", systemd.unit]


def is_lingering(user: str) -> bool:
    return (_LINGER / user).exists()


def turn_on_lingering(user: str) -> None:
    """Enable lingering. Raises CommandFailed if that is refused."""
    _run("loginctl", "enable-linger", user)


def _run(*argv: str, may_fail: bool = False) -> None:
    done = _query(*argv)
    if done.code and not may_fail:
        output = " ".join(done.err.decode(errors="replace").split()) or f"exit code {done.code}"
        raise CommandFailed(f"`{' '.join(argv)}` failed: {output}", ExitCode.INTERNAL)


def _query(*argv: str) -> RunResult:
    command = f"`{' '.join(argv)}`"
    try:
        done = run_blocking(argv, os.environ, limit_s=_WITHIN_S)
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{command} failed: {error}", ExitCode.INTERNAL) from error
    if done.timed_out:
        raise CommandFailed(f"{command} did not end within {_WITHIN_S:g} s", ExitCode.INTERNAL)
    return done
