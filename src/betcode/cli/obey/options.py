"""The parsed options of an obey command, with the environment applied."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from betcode.config.paths import Paths, choose_paths


@dataclass(frozen=True, slots=True)
class ObeySocket:
    """The path of the daemon's obey socket, and whether it is the default."""

    path: Path
    is_usual: bool  # the default: the socket of the daemon that this command would start


@dataclass(frozen=True, slots=True)
class ObeyCommandOptions:
    """The common options, and those of the chosen command."""

    handler: str
    paths: Paths  # of the daemon, if this command starts it
    socket: ObeySocket
    may_start: bool
    as_json: bool
    colour: bool
    chosen: argparse.Namespace

    def text(self, name: str) -> str:
        """Return an option's text; empty if the option was not given."""
        value = getattr(self.chosen, name, None)
        return value if isinstance(value, str) else ""

    def has(self, name: str) -> bool:
        """Whether an option was given, even if it is empty."""
        return getattr(self.chosen, name, None) is not None

    def number(self, name: str) -> float:
        value = getattr(self.chosen, name, None)
        return value if isinstance(value, int | float) else 0

    def flag(self, name: str) -> bool:
        return getattr(self.chosen, name, False) is True

    def texts(self, name: str) -> tuple[str, ...]:
        value = getattr(self.chosen, name, None)
        return tuple(str(one) for one in value) if isinstance(value, list) else ()


def options_from(chosen: argparse.Namespace, environ: Mapping[str, str]) -> ObeyCommandOptions:
    """Return the options: flags override variables, and variables override defaults."""
    paths = choose_paths(environ)
    return ObeyCommandOptions(
        handler=chosen.handler,
        paths=paths,
        socket=choose_socket(chosen.socket or "", environ, paths),
        may_start=not chosen.no_start,
        as_json=chosen.json,
        colour=not chosen.no_color,
        chosen=chosen,
    )


def choose_socket(flag: str, environ: Mapping[str, str], paths: Paths) -> ObeySocket:
    """Return the socket of the flag, the variable, the daemon's settings or the default, in this order."""
    for named in (flag, environ.get("OBEY_DAEMON_SOCKET"), environ.get("OBEY_SOCKET")):
        if named:
            return ObeySocket(Path(named).expanduser().absolute(), is_usual=False)
    return ObeySocket(_in_settings(paths, environ) or paths.obey_socket, is_usual=True)


def _in_settings(paths: Paths, environ: Mapping[str, str]) -> Path | None:
    from betcode.config.load import WrongSetting, load_settings

    try:
        named = load_settings(paths.config_dir, environ).settings.obey.socket
    except WrongSetting:
        return None  # the daemon reports invalid settings when it starts
    return Path(named).expanduser() if named else None
