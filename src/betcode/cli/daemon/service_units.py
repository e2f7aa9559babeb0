"""The files for service managers: a systemd user unit and a launchd agent."""

import json
import plistlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_UNIT = """\
# Written by `betcode daemon install`. State: {state_dir}
[Unit]
Description=betcode: durable sessions of coding agents
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
ExecStart={start}
ExecStartPost={probe}
ExecReload=/bin/kill -HUP $MAINPID
Environment={path}
WatchdogSec=60
TimeoutStartSec=300
TimeoutStopSec=20
Restart=on-failure
RestartSec=1
# Invalid settings need a person: a restart does not help.
RestartPreventExitStatus=5
# Agents outlive the daemon: each runs in a holder, in its own scope if systemd provides one.
KillMode=process

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True, slots=True)
class Service:
    """A daemon as a service: its command, its health command, and its PATH."""

    start: Sequence[str]
    probe: Sequence[str]
    state_dir: Path
    path: str  # PATH; a service manager's own rarely contains the agents' programs
    log: Path


def systemd_unit(service: Service) -> str:
    return _UNIT.format(
        state_dir=_shown(service.state_dir),
        start=_command_line(service.start),
        probe=_command_line(service.probe),
        path=_quoted("PATH=" + service.path),
    )


def is_for(unit: str, state_dir: Path) -> bool:
    """Whether a unit's text is ours, for that state directory."""
    return unit.partition("\n")[0].endswith(f"State: {_shown(state_dir)}")


def launchd_agent(service: Service, label: str) -> bytes:
    return plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": list(service.start),
            "EnvironmentVariables": {"PATH": service.path},
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 5,
            "ExitTimeOut": 20,
            "AbandonProcessGroup": True,  # agents outlive the daemon
            "Umask": 0o077,
            "StandardOutPath": str(service.log),
            "StandardErrorPath": str(service.log),
        }
    )


def _shown(state_dir: Path) -> str:
    return json.dumps(str(state_dir))


def _command_line(argv: Sequence[str]) -> str:
    # In a command line, and only there, systemd expands $.
    return " ".join(_quoted(word).replace("$", "$$") for word in argv)


def _quoted(text: str) -> str:
    """Quote one word of a unit file, where % and backslash are special."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'
