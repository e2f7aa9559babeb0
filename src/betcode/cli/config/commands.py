"""`betcode config`: show, change and validate settings."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from betcode.cli.config.files import chosen_file, daemon_runs, file_of, refuse_inside
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import uncut_table
from betcode.config.edit.file_edit import NotChanged, change, setting_of, value_of
from betcode.config.file_reader import WrongFile, read_file, read_text
from betcode.config.load import Loaded, WrongSetting, combined, resolve
from betcode.config.origins import OF_PROJECTS, Layer
from betcode.config.schema import SETTINGS, Setting

_PRIVATE = "(private)"


def show(options: CommandOptions) -> int:
    """Print the settings, then the problems. The exit code is 5 if there are problems."""
    screen = standard_screen()
    _note_remote_daemon(options, screen)
    loaded = _loaded(options)
    if options.as_json:
        facts: dict[str, object] = {"settings": [_json(loaded, setting) for setting in SETTINGS.values()]}
        facts |= {"warnings": _warnings(loaded), "faults": [fault.sentence for fault in loaded.faults]}
        screen.json(facts, indent=2)
        return _code(loaded)
    with_origin = options.flag("origin")
    headings = ("SETTING", "VALUE", "FROM") if with_origin else ("SETTING", "VALUE")
    rows = [
        (key, shown(loaded, setting), *((str(loaded.origin(key)),) if with_origin else ()))
        for key, setting in SETTINGS.items()
    ]
    for line in uncut_table(headings, rows, screen.width if screen.is_terminal else None):
        screen.line(line)
    return _print_problems(screen, loaded)


def get(options: CommandOptions) -> int:
    screen = standard_screen()
    key = options.text("key")
    setting = _setting(key)
    loaded = _loaded(options)
    if any(fault.key == setting.key or not fault.key for fault in loaded.faults):
        return _print_problems(screen, loaded)
    if setting.is_private:
        raise CommandFailed(f"{key} is private and not shown ({loaded.origin(key)})", ExitCode.INVALID_ARGUMENTS)
    value = setting.kind.write(setting.value_in(loaded.settings))
    if key != setting.key and isinstance(value, dict):
        value = value.get(key.removeprefix(f"{setting.key}."))
    if options.as_json:
        screen.json({**_json(loaded, setting), "key": key, "value": value}, indent=2)
    else:
        screen.line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return ExitCode.OK


def set_value(options: CommandOptions) -> int:
    words = (options.text("key"), options.chosen.value, *options.texts("more"))
    if len(words) % 2:
        raise CommandFailed(f"{words[-1]} has no value: each KEY takes a VALUE", ExitCode.INVALID_ARGUMENTS)
    try:
        values = {key: value_of(key, text) for key, text in zip(words[::2], words[1::2], strict=True)}
    except WrongSetting as wrong:
        raise CommandFailed(str(wrong), ExitCode.INVALID_ARGUMENTS) from wrong
    return _change(options, values, ())


def unset(options: CommandOptions) -> int:
    key = options.text("key")
    _setting(key)
    return _change(options, {}, (key,))


def _change(options: CommandOptions, values: dict[str, object], gone: tuple[str, ...]) -> int:
    screen = standard_screen()
    refuse_inside(options.paths)
    _note_remote_daemon(options, screen)
    path, layer = chosen_file(options)
    try:
        changed = change(path, layer, values, gone)
    except (WrongSetting, NotChanged) as wrong:
        raise CommandFailed(str(wrong), ExitCode.INVALID_ARGUMENTS) from wrong
    keys = (*values, *gone)
    if options.as_json:
        screen.json({"key": keys[0], "keys": keys, "path": str(path), "changed": changed})
    elif not changed:
        screen.line(f"No change: {path}")
    else:
        for key in gone:
            screen.line(f"{key} is no longer set in {path}")
        for key, value in values.items():
            screen.line(f"{key} is {_set_text(key, value)}in {path}")
    if changed:
        _note_overrides(options, screen, keys, layer)
    return ExitCode.OK


def _note_remote_daemon(options: CommandOptions, screen: Screen) -> None:
    if options.paths.remote is not None:
        screen.note(f"These are the settings of this machine; the daemon at {options.paths.remote.address} has its own")


def _set_text(key: str, value: object) -> str:
    """Return `set to 10m ` for a value such as 600, to show how it was interpreted."""
    setting = setting_of(key)
    if setting.is_private:
        return "set "
    meant = setting.kind.write(setting.kind.read(value)) if setting.key == key else value
    return f"set to {meant if isinstance(meant, str) and meant else json.dumps(meant, ensure_ascii=False)} "


def _note_overrides(options: CommandOptions, screen: Screen, keys: Iterable[str], layer: Layer) -> None:
    loaded = _loaded(options)
    order = list(Layer)
    waits = False
    for key in keys:
        setting = setting_of(key)
        origin = loaded.origin(setting.key)
        if order.index(origin.layer) < order.index(layer):
            screen.note(f"{key} has no effect here, because {origin} overrides it")
        else:
            waits = waits or not setting.at_once
        for remark in _feature_warnings(loaded) if setting.field == "feature_flags" else ():
            screen.note(f"Warning: {remark}")
    if waits and daemon_runs(options.paths):
        screen.note("Restart the daemon to apply it: betcode daemon restart")


def _warnings(loaded: Loaded) -> list[str]:
    return [*loaded.warnings, *_feature_warnings(loaded)]


def _feature_warnings(loaded: Loaded) -> Iterable[str]:
    """Yield warnings about the chosen features."""
    if not loaded.settings.feature_flags:
        return ()
    from betcode._version import __version__
    from betcode.domain.release.features import FeatureFlags  # imported here: most settings files choose no features

    return tuple(FeatureFlags(__version__, loaded.settings.feature_flags).remarks())


def validate(options: CommandOptions) -> int:
    """Print all problems. The exit code is 5 if there are any."""
    screen = standard_screen()
    named = options.text("file")
    files = [_named_file(named)] if named else _files_here(options)
    loaded = combined(read_file(*file) for file in files) if named else _loaded(options)
    faults = [fault.sentence for fault in loaded.faults]
    if named and not os.path.lexists(files[0][0]):
        faults.append(f"{files[0][0]} does not exist")
    for path, layer in files:
        faults += _rule_problems(path, layer)
    if options.as_json:
        screen.json({"faults": faults, "warnings": _warnings(loaded), "files": [str(file[0]) for file in files]})
    else:
        for fault in faults:
            screen.line(fault)
        for warning in _warnings(loaded):
            screen.note(f"Warning: {warning}")
        if not faults:
            screen.line("The settings are valid")
    return ExitCode.INVALID_ARGUMENTS if faults else ExitCode.OK


def path(options: CommandOptions) -> int:
    screen = standard_screen()
    found, layer = chosen_file(options)
    if options.as_json:
        screen.json({"path": str(found), "exists": found.exists(), "layer": layer.value})
    else:
        screen.line(str(found))
    return ExitCode.OK


def shown(loaded: Loaded, setting: Setting) -> str:
    """Return the value as people write it; a private value is hidden."""
    value = setting.kind.write(setting.value_in(loaded.settings))
    if setting.is_private and value:
        return _PRIVATE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json(loaded: Loaded, setting: Setting) -> dict[str, object]:
    origin = loaded.origin(setting.key)
    return {
        "key": setting.key,
        "value": None if setting.is_private else setting.kind.write(setting.value_in(loaded.settings)),
        "layer": origin.layer.value,
        "origin": str(origin),
        "private": setting.is_private,
        "variable": setting.environment_name,
        "allowed": setting.kind.allowed,
        "help": setting.help,
    }


def _loaded(options: CommandOptions) -> Loaded:
    return resolve(options.paths.config_dir, os.environ, None, Path(working_directory(options)))


def _setting(key: str) -> Setting:
    try:
        return setting_of(key)
    except WrongSetting as wrong:
        raise CommandFailed(str(wrong), ExitCode.INVALID_ARGUMENTS) from wrong


def _print_problems(screen: Screen, loaded: Loaded) -> int:
    for warning in _warnings(loaded):
        screen.note(f"Warning: {warning}")
    for fault in loaded.faults:
        screen.note(f"Wrong: {fault.sentence}")
    return _code(loaded)


def _code(loaded: Loaded) -> int:
    return ExitCode.INVALID_ARGUMENTS if loaded.faults else ExitCode.OK


def _files_here(options: CommandOptions) -> list[tuple[Path, Layer]]:
    return [(file_of(options, layer), layer) for layer in (Layer.USER, Layer.PROJECT, Layer.LOCAL)]


def _named_file(name: str) -> tuple[Path, Layer]:
    """Return the path and its layer; a project's file is recognised by its directory."""
    found = Path(name).absolute()
    layer = next((layer for layer, tail in OF_PROJECTS.items() if str(found).endswith(f"/{tail}")), Layer.USER)
    return found, layer


def _rule_problems(path: Path, layer: Layer) -> Iterable[str]:
    """Yield the problems of the rules in a file. An unreadable file was reported before."""
    try:
        text = read_text(path)
    except WrongFile:
        return []
    if not text or read_file(path, layer).faults:
        return []
    from betcode.rules import Layer as RuleLayer  # imported here: only this command needs it
    from betcode.rules import SettingsText, read_layers

    lists = read_layers([SettingsText(RuleLayer(layer.value), str(path), text)], trusted=True)
    return [str(problem) for problem in lists.problems]
