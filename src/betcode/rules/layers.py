"""Merges the permission lists of the settings hierarchy: file texts in, rules out.

The lists of all layers are combined. Allow rules of a project apply once it is trusted; deny and ask rules always do.
"""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from betcode.rules.lists import Rules
from betcode.rules.rule import FROM_THE_PROJECT, Action, Layer, Rule, RuleProblem, Source, parse_rule
from betcode.rules.session_paths import PathContext
from betcode.util.jsonc import Located, NotJson, parse

FILE_CHARACTERS = 4 * 1024 * 1024
_LISTS = (Action.DENY, Action.ASK, Action.ALLOW)


@dataclass(frozen=True, slots=True)
class SettingsText:
    """One file of the hierarchy; a missing file is omitted, and an unreadable one has no text."""

    layer: Layer
    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file whose rules are unknown."""

    source: Source
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Lists:
    """The merged rules of the layers."""

    rules: tuple[Rule, ...] = ()
    untrusted: tuple[Rule, ...] = ()  # allow rules that do not count, since the project is not trusted
    problems: tuple[RuleProblem | FileProblem, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """Return the files that could not be read, which may contain deny rules."""
        return tuple(str(found.source) for found in self.problems if isinstance(found, FileProblem) or found.may_forbid)

    def at(self, place: PathContext) -> Rules:
        """The rules made ready for a session."""
        return Rules(self.rules, place, self.broken)


def read_layers(texts: Iterable[SettingsText], *, trusted: bool, flags: Iterable[Rule] = ()) -> Lists:
    """All rules of the files' permission lists, the strongest layer first; never raises."""
    order = list(Layer)
    rules: list[Rule] = list(flags)
    untrusted: list[Rule] = []
    problems: list[RuleProblem | FileProblem] = []
    for settings in sorted(texts, key=lambda settings: order.index(settings.layer)):
        for found in _read(settings):
            if not isinstance(found, Rule):
                problems.append(found)
            elif found.action is Action.ALLOW and settings.layer in FROM_THE_PROJECT and not trusted:
                untrusted.append(found)
            else:
                rules.append(found)
    return Lists(tuple(rules), tuple(untrusted), tuple(problems))


def _read(settings: SettingsText) -> Iterator[Rule | RuleProblem | FileProblem]:
    # `/path` starts at the session's directory for a project's own files, and at the file's directory for the user's.
    anchor = "" if settings.layer in FROM_THE_PROJECT else posixpath.dirname(settings.path)

    def at(line: int) -> Source:
        return Source(settings.layer, settings.path, line, anchor)

    permissions = _permissions(settings.text)
    if isinstance(permissions, NotJson):
        yield FileProblem(at(permissions.line), permissions.reason)
        return
    for action in _LISTS:
        listed = permissions.get(action.value)
        if listed is None or listed.value is None:
            continue
        if not isinstance(listed.value, list):
            yield FileProblem(at(listed.line), f'"{action.value}" must be a list of rules')
            continue
        for entry in listed.value:
            if isinstance(entry.value, str):
                yield parse_rule(entry.value, action, at(entry.line))
            else:
                yield RuleProblem("…", at(entry.line), "a rule must be a string", action is not Action.ALLOW)


def beside_permissions(settings: SettingsText) -> list[FileProblem]:
    """Return problems for lists of rules at the top level of the file, outside "permissions": they are ignored."""
    try:
        root = parse(settings.text or "{}").value
    except NotJson:
        return []
    if not isinstance(root, dict):
        return []
    lists = [(action.value, root[action.value]) for action in _LISTS if action.value in root]
    return [
        FileProblem(
            Source(settings.layer, settings.path, found.line),
            f'"{name}" is outside "permissions", so its rules are ignored',
        )
        for name, found in lists
    ]


def _permissions(text: str | None) -> dict[str, Located] | NotJson:
    """Return the value of "permissions" in a file, or the problem with the file."""
    if text is None or len(text) > FILE_CHARACTERS:
        return NotJson("it cannot be read" if text is None else "it is too long", 0)
    if not text:  # an editor is writing the file: what it denied a moment ago is still denied
        return NotJson("it is empty", 0)
    if not text.strip():
        return {}
    try:
        root = parse(text)
    except NotJson as error:
        return error
    if not isinstance(root.value, dict):
        return NotJson("it must hold one JSON object", root.line)
    found = root.value.get("permissions", Located(None, 0))
    if found.value is not None and not isinstance(found.value, dict):
        return NotJson('"permissions" must be an object', found.line)
    return found.value or {}
