"""The parsed options of a command, with paths and environment applied."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.remote_options import remote_of
from betcode.config.paths import Paths, choose_paths
from betcode.providers.specs import DEFAULT


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The common options, and those of the chosen command."""

    handler: str
    paths: Paths
    claude_bin: str
    may_start: bool  # the command may start a missing daemon
    as_json: bool
    chosen: argparse.Namespace

    def text(self, name: str) -> str:
        """Return an option's text; empty if the option was not given."""
        value = getattr(self.chosen, name, None)
        return value if isinstance(value, str) else ""

    def has(self, name: str) -> bool:
        """Whether an option was given, even if it is empty."""
        return getattr(self.chosen, name, None) is not None

    def number(self, name: str) -> int:
        value = getattr(self.chosen, name, None)
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        return getattr(self.chosen, name, False) is True

    def texts(self, name: str) -> tuple[str, ...]:
        value = getattr(self.chosen, name, None)
        return tuple(str(one) for one in value) if isinstance(value, list) else ()

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs of a repeatable KEY=VALUE option."""
        value = getattr(self.chosen, name, None)
        return tuple(value) if isinstance(value, list) else ()


def options_from(chosen: argparse.Namespace, environ: Mapping[str, str]) -> CommandOptions:
    """Return the options: flags override variables, and variables override the platform's defaults."""
    paths = choose_paths(
        environ,
        state_dir=_path(chosen.state_dir),
        config_dir=_path(chosen.config_dir),
        socket=_path(chosen.socket),
    )
    for flag, name, value in (
        ("--worktree", "worktree", chosen.open_in),
        ("--provider", "provider", chosen.open_provider),
        ("--config", "config", chosen.open_config),
    ):
        if chosen.command and value is not None:
            raise CommandFailed(f"{flag} must follow the command", ExitCode.INVALID_ARGUMENTS)
        if value is not None:
            setattr(chosen, name, value)
    return CommandOptions(
        handler=chosen.handler,
        paths=replace(paths, remote=remote_of(chosen, environ, paths)),
        claude_bin=chosen.claude_bin or environ.get(DEFAULT.executable_variable, ""),
        may_start=not chosen.no_start,
        as_json=chosen.json,
        chosen=chosen,
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
