"""`betcode doctor`: find common problems, with and without a daemon, and suggest fixes."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

import anyio

from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.doctor import agents as doctor_agents
from betcode.cli.doctor import files as doctor_files
from betcode.cli.doctor import processes as doctor_processes
from betcode.cli.doctor import repair as doctor_repair
from betcode.cli.doctor import runs as doctor_runs
from betcode.cli.doctor.finding import Finding, Level, Situation, note, ok, trouble
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.progress import show_blocking_progress
from betcode.config.load import FILE_NAME, WrongSetting, load_settings
from betcode.config.settings import Settings

Check = Callable[[Situation], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    doctor_files.directories,
    doctor_files.database_mode,
    doctor_files.sockets,
    doctor_files.lock,
    doctor_files.disk,
    doctor_files.clock,
    doctor_files.database,
    doctor_files.listening,
    doctor_agents.agent,
    doctor_processes.git,
    doctor_processes.orphans,
    doctor_processes.open_files,
    doctor_runs.runs,
)
_SHOWN = {Level.OK: "ok", Level.NOTE: "note", Level.TROUBLE: "TROUBLE"}


def doctor(options: CommandOptions) -> int:
    """Print the findings. The exit code is 0 if nothing must be fixed, otherwise 1."""
    refuse_remote(options.paths)
    screen = standard_screen()
    moved = doctor_repair.repair(options) if options.flag("repair") else []
    with show_blocking_progress(screen, "Looking"):
        findings = [*examined(options, os.environ), *_of_daemon(options)]
    troubles = [one for one in findings if one.level is Level.TROUBLE]
    if options.as_json:
        listed = [{"check": one.check, "level": one.level, "says": one.says, "mend": one.mend} for one in findings]
        repaired = {"set_aside": [asdict(one) for one in moved]} if options.flag("repair") else {}
        screen.json({"well": not troubles, "findings": listed, **repaired}, indent=2)
    else:
        for one in findings:
            screen.line(f"{_SHOWN[one.level]:<8} {one.check:<17} {one.says}")
            if one.mend:
                screen.line(f"{'':<26} → {one.mend}")
        screen.line("")
        screen.line(_verdict(len(troubles)))
    return ExitCode.AGENT_ERROR if troubles else ExitCode.OK


def examined(options: CommandOptions, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the findings that need no daemon; a check that raises is a finding too."""
    settings, of_settings = _settings(options)
    situation = Situation(options.paths, settings, environ, options.claude_bin, time.time())
    yield from of_settings
    for check in CHECKS:
        try:
            yield from check(situation)
        except OSError as error:
            yield trouble(check.__name__, f"cannot be checked: {error}", "make the file readable")


def _of_daemon(options: CommandOptions) -> list[Finding]:
    try:
        return anyio.run(doctor_processes.daemon, options.paths)
    except OSError as error:
        return [trouble("daemon", f"cannot be checked: {error}", "make the file readable")]


def _settings(options: CommandOptions) -> tuple[Settings, list[Finding]]:
    path = options.paths.config_dir / FILE_NAME
    try:
        loaded = load_settings(options.paths.config_dir, os.environ)
    except WrongSetting as wrong:
        return Settings(), [trouble("settings", str(wrong), f"edit {path}")]
    if loaded.warnings:
        return loaded.settings, [note("settings", each, f"edit {path}") for each in loaded.warnings]
    return loaded.settings, [ok("settings", str(path) if path.exists() else "all settings have their defaults")]


def _verdict(troubles: int) -> str:
    if not troubles:
        return "No problems found"
    return "1 problem found" if troubles == 1 else f"{troubles} problems found"
