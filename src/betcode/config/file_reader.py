"""Read one settings file: its values, and the problems of the file itself."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from betcode.config.claude_keys import is_claudes
from betcode.config.origins import OF_PROJECTS, Fault, Layer, SettingOrigin, UncheckedSetting
from betcode.config.plain_file import read_plain
from betcode.config.schema import RULE_LISTS, SETTINGS
from betcode.util.jsonc import Located, NotJson, parse

FILE_BYTES = 2 * 1024 * 1024
_LONGEST_KEY = 200  # a longer file is not a typing mistake
_SECTIONS = frozenset(key.partition(".")[0] for key in SETTINGS) - {"permissions"}


class WrongFile(Exception):
    """It cannot be read at all; one sentence."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """The content of a file; a missing one is empty."""

    path: Path
    layer: Layer
    given: tuple[UncheckedSetting, ...] = ()
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()


def read_text(path: Path) -> str | None:
    """Return the text of the file; None if there is none.

    Raises:
        WrongFile: it is not a regular file, or too large.
    """
    try:
        data = read_plain(path, FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WrongFile(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > FILE_BYTES:
        raise WrongFile(f"{path} is longer than {FILE_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WrongFile(f"{path}, line {line}: it is not UTF-8 text") from None


def read_file(path: Path, layer: Layer) -> FileRead:
    """The values of the file that count in this layer; never raises."""
    try:
        text = read_text(path)
    except WrongFile as wrong:
        return FileRead(path, layer, faults=(Fault(str(wrong)),))
    return FileRead(path, layer) if text is None else understood(text, path, layer)


def understood(text: str, path: Path, layer: Layer) -> FileRead:
    """Parse the text of that file; never raises."""
    try:
        root = parse(text).value if text.strip() else {}
    except NotJson as error:
        return FileRead(path, layer, faults=(Fault(f"{path} is not JSON: {error}"),))
    if not isinstance(root, dict):
        return FileRead(path, layer, faults=(Fault(f"{path} must hold one JSON object"),))
    given: dict[str, UncheckedSetting] = {}
    faults: list[Fault] = []
    warnings: list[str] = []
    for key, value in _flat(root):
        origin = SettingOrigin(layer, str(path), value.line)
        if key in given:
            faults.append(Fault(f"{origin.words}: duplicate setting {key}", key))
        elif key not in SETTINGS:
            warnings += _unknown(key, origin)
        elif layer in OF_PROJECTS and not SETTINGS[key].of_project:
            warnings.append(f"{origin.words}: {key} cannot be set by a project and is ignored here")
        else:
            given[key] = UncheckedSetting(key, value.plain, origin)
    return FileRead(path, layer, tuple(given.values()), tuple(faults), tuple(warnings))


def _flat(values: Mapping[str, Located], prefix: str = "") -> Iterator[tuple[str, Located]]:
    """{"agents": {"turn_limit": 3}} as "agents.turn_limit" and 3."""
    for name, value in values.items():
        key = prefix + name
        if isinstance(value.value, dict) and key not in SETTINGS:
            yield from _flat(value.value, key + ".")
        else:
            yield key, value


def _unknown(key: str, origin: SettingOrigin) -> Iterator[str]:
    if key in RULE_LISTS or is_claudes(key):
        return
    if origin.layer in OF_PROJECTS and key.partition(".")[0] not in _SECTIONS:
        return  # the file is Claude Code's, and other programs may store values there too
    yield f"{origin.words}: unknown setting {key}{suggestion(key)}"


def suggestion(key: str) -> str:
    """Return the end of a sentence about an unknown key."""
    if len(key) > _LONGEST_KEY:
        return ""
    group = [each for each in SETTINGS if each.startswith(f"{key}.")]
    if group:
        return f": {key} is a group of settings such as {group[0]}"
    inside = f"permissions.{key}"
    near = [inside] if inside in RULE_LISTS else difflib.get_close_matches(key, [*SETTINGS, *RULE_LISTS], n=1)
    return f"; did you mean {near[0]}?" if near else ""
