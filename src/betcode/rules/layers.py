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
    """One file of the hierarchy; a file that is not there is left out, one that cannot be read has no text."""

    layer: Layer
    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file whose rules are not known."""

    source: Source
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Lists:
    """What the layers say together."""

    rules: tuple[Rule, ...] = ()
    untrusted: tuple[Rule, ...] = ()  # allow rules that do not count, since the project is not trusted
    problems: tuple[RuleProblem | FileProblem, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """Places where something may be forbidden that nobody could read."""
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
    # `/path` begins at the session's directory for a project's own files, and beside the file for the user's.
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
                yield RuleProblem("…", at(entry.line), "a rule is a text", action is not Action.ALLOW)


def beside_permissions(settings: SettingsText) -> list[FileProblem]:
    """Lists of rules that stand where nobody reads them, right in the file and not in its "permissions"."""
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
            f'"{name}" stands outside "permissions", so that its rules do not count',
        )
        for name, found in lists
    ]


def _permissions(text: str | None) -> dict[str, Located] | NotJson:
    """The value of "permissions" in a file, or what is wrong with the file."""
    if text is None or len(text) > FILE_CHARACTERS:
        return NotJson("it cannot be read" if text is None else "it is too long", 0)
    if not text:  # an editor is writing it anew: what it forbade a moment ago still counts
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
