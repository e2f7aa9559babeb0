"""Copy the settings of Claude Code: offered once, if betcode has no settings yet, and on request."""

import os
import tempfile
from pathlib import Path

from betcode.cli.config.claude_import import ClaudeSettings, read_claude_settings
from betcode.cli.config.files import refuse_inside
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask, confirm
from betcode.config.first_run import RULES_DIRECTORY, claude_directory, has_importable_settings, importable_settings
from betcode.config.load import FILE_NAME

_BEFORE = ".before"


def offer_import(options: CommandOptions, *, hint: bool = True) -> None:
    """At the first run, ask a person whether to import; tell a script how to import later."""
    target = options.paths.config_dir
    source = importable_settings(os.environ, target)
    if source is None:
        return
    screen = standard_screen()
    if not can_ask():
        if hint:
            screen.note("To copy your Claude Code settings: betcode config import")
        return
    question = f"Copy your settings and rules from {source}? The originals are not changed. [Y/n] "
    try:
        if confirm(screen, question, otherwise=True):
            _report(screen, source, target, _copy(source, target, replace=False))
        else:
            target.mkdir(mode=0o700, parents=True)  # so that the question is asked only once
    except OSError as trouble:
        screen.note(f"{target} cannot be written: {trouble.strerror}")


def import_settings(options: CommandOptions) -> int:
    """`betcode config import`: copy the settings now."""
    screen = standard_screen()
    refuse_inside(options.paths)
    source = Path(options.text("source")).expanduser() if options.text("source") else claude_directory(os.environ)
    if not has_importable_settings(source):
        raise CommandFailed(f"There are no settings in {source}", ExitCode.INVALID_ARGUMENTS)
    target = options.paths.config_dir
    if source.absolute() == target:
        raise CommandFailed(f"{source} is the config directory itself", ExitCode.INVALID_ARGUMENTS)
    try:
        found = _copy(source, target, replace=options.flag("replace"))
    except OSError as trouble:
        raise CommandFailed(f"{target} cannot be written: {trouble.strerror}", ExitCode.INVALID_ARGUMENTS) from trouble
    if options.as_json:
        screen.json({"copied": _names(found), "left_out": found.skipped, "from": str(source), "to": str(target)})
    else:
        _report(screen, source, target, found)
    return ExitCode.OK if _names(found) else ExitCode.INVALID_ARGUMENTS


def _copy(source: Path, target: Path, *, replace: bool) -> ClaudeSettings:
    """Copy the settings and return them, through a temporary directory: no copy is ever partial."""
    found = read_claude_settings(source)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Readable only by the user
    with tempfile.TemporaryDirectory(prefix=".betcode-import-", dir=target.parent) as beside:
        made = Path(beside) / "made"
        made.mkdir(mode=0o700)
        _write(made, found)
        if not os.path.lexists(target):
            made.replace(target)
        else:
            _move_into(made, target, found, replace=replace)
    return found


def _write(made: Path, found: ClaudeSettings) -> None:
    files = {f"{RULES_DIRECTORY}/{name}": data for name, data in found.files.items()}
    if found.settings is not None:
        files[FILE_NAME] = found.settings.encode()
    for name, data in files.items():
        path = made / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _move_into(made: Path, target: Path, found: ClaudeSettings, *, replace: bool) -> None:
    for name in (FILE_NAME, RULES_DIRECTORY):
        if not (made / name).exists():
            continue
        path = target / name
        if os.path.lexists(path):
            if not replace:
                found.skipped.append(f"{path} already exists: use --replace to replace it")
                _forget(found, name)
                continue
            _set_aside(path)
        (made / name).replace(path)


def _set_aside(path: Path) -> None:
    """Rename the file to an unused name: a backup of an earlier import may be the only copy."""
    backup, number = path.with_name(path.name + _BEFORE), 1
    while os.path.lexists(backup):
        number += 1
        backup = path.with_name(f"{path.name}{_BEFORE}-{number}")
    path.replace(backup)


def _forget(found: ClaudeSettings, name: str) -> None:
    if name == FILE_NAME:
        found.settings = None
    else:
        found.files.clear()


def _names(found: ClaudeSettings) -> list[str]:
    names = [] if found.settings is None else [FILE_NAME]
    return names + [f"{RULES_DIRECTORY}/{name}" for name in found.files]


def _report(screen: Screen, source: Path, target: Path, found: ClaudeSettings) -> None:
    count = len(found.files)
    parts = [] if found.settings is None else [FILE_NAME]
    if count:
        parts.append(f"{RULES_DIRECTORY}/ ({count} file{'' if count == 1 else 's'})")
    screen.note(f"Copied from {source} to {target}: {' and '.join(parts) or 'nothing'}")
    for sentence in found.skipped:
        screen.note(f"Not copied: {sentence}")
