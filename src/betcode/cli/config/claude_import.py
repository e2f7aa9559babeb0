"""Copy settings.json and rules/ from Claude Code's directory. The originals are only read."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from betcode.config.edit.file_edit import faults_in
from betcode.config.edit.jsonc_edit import with_value
from betcode.config.file_reader import WrongFile, read_text
from betcode.config.first_run import RULES_DIRECTORY
from betcode.config.load import FILE_NAME
from betcode.config.origins import Layer
from betcode.config.plain_file import read_plain
from betcode.rules import PATH_TOOLS, Action, Rule, Source, parse_rule
from betcode.rules import Layer as RuleLayer
from betcode.util.jsonc import Located, parse

_FILE_BYTES = 1024 * 1024
_ALL_BYTES = 16 * 1024 * 1024
_FILES = 1000
_DEPTH = 8
_LISTS = (Action.DENY, Action.ASK, Action.ALLOW)


@dataclass(slots=True)
class ClaudeSettings:
    settings: str | None = None  # the text; None: no usable file
    files: dict[str, bytes] = field(default_factory=dict)  # files in rules/, by relative name
    skipped: list[str] = field(default_factory=list)  # one sentence for each file that cannot be copied


def read_claude_settings(source: Path) -> ClaudeSettings:
    """Read everything that can be copied, and say what cannot be. Unreadable files do not raise."""
    found = ClaudeSettings()
    _read_settings(source / FILE_NAME, found)
    _read_rules(source / RULES_DIRECTORY, found)
    return found


def _read_settings(path: Path, found: ClaudeSettings) -> None:
    try:
        text = read_text(path)
    except WrongFile as wrong:
        found.skipped.append(str(wrong))
        return
    if text is None:
        if os.path.lexists(path):
            found.skipped.append(f"{path} is a broken symbolic link")
        return
    faults = faults_in(text, path, Layer.USER)
    if faults:
        found.skipped.append(faults[0].sentence)
        return
    found.settings = _anchored(text, path.parent)


def _anchored(text: str, directory: Path) -> str:
    """Make relative rules absolute, so that they match the same paths when the file is elsewhere."""
    root = parse(text).value if text.strip() else {}
    permissions = root.get("permissions") if isinstance(root, dict) else None
    if permissions is None or not isinstance(permissions.value, dict):
        return text
    for action in _LISTS:
        listed = permissions.value.get(action.value)
        if listed is None or not isinstance(listed.value, list):
            continue
        before = [each.plain for each in listed.value]
        after = [_anchored_rule(each, action, directory) for each in listed.value]
        if after != before:
            text = with_value(text, ("permissions", action.value), after)
    return text


def _anchored_rule(entry: Located, action: Action, directory: Path) -> object:
    if not isinstance(entry.value, str):
        return entry.plain
    rule = parse_rule(entry.value, action, Source(RuleLayer.USER))
    if not isinstance(rule, Rule) or rule.tool not in PATH_TOOLS or rule.specifier is None:
        return entry.value
    beside = rule.specifier.startswith("/") and not rule.specifier.startswith("//")
    return f"{rule.tool}(/{directory.absolute()}{rule.specifier})" if beside else entry.value


def _read_rules(directory: Path, found: ClaudeSettings) -> None:
    if not os.path.lexists(directory):
        return
    try:
        if not stat.S_ISDIR(directory.stat().st_mode):
            found.skipped.append(f"{directory} is not a directory")
            return
        for name, path in _walk(directory, "", 0, found):
            if len(found.files) >= _FILES:
                found.skipped.append(f"{directory} has more than {_FILES} files: the others were skipped")
                return
            _read_file(name, path, found)
    except OSError as trouble:
        found.skipped.append(f"{directory} cannot be read: {trouble.strerror}")


def _walk(directory: Path, prefix: str, depth: int, found: ClaudeSettings) -> Iterator[tuple[str, Path]]:
    if depth > _DEPTH:
        found.skipped.append(f"{directory} is nested too deeply")
        return
    for path in sorted(directory.iterdir()):
        name = f"{prefix}{path.name}"
        try:
            mode = path.stat().st_mode
        except OSError as trouble:
            found.skipped.append(f"{path} cannot be read: {trouble.strerror}")
            continue
        if stat.S_ISREG(mode):
            yield name, path
        elif stat.S_ISDIR(mode) and not path.is_symlink():
            try:
                yield from _walk(path, f"{name}/", depth + 1, found)
            except OSError as trouble:
                found.skipped.append(f"{path} cannot be read: {trouble.strerror}")
        else:
            found.skipped.append(f"{path} is not a regular file")


def _read_file(name: str, path: Path, found: ClaudeSettings) -> None:
    try:
        data = read_plain(path, _FILE_BYTES + 1)
    except OSError as trouble:
        found.skipped.append(f"{path} cannot be read: {trouble.strerror}")
        return
    if len(data) > _FILE_BYTES or sum(map(len, found.files.values())) + len(data) > _ALL_BYTES:
        found.skipped.append(f"{path} is too large")
        return
    found.files[name] = data
