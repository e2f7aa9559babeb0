"""Path rules: gitignore patterns, anchored as in Claude Code."""

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from betcode.rules.rule import Action, Rule
from betcode.rules.session_paths import PathContext, spellings
from betcode.rules.wildcards import starred

_WILD = re.compile(r"[*?\[\\]")
_CLASS = re.compile(r"([!^]?)(\]?[^\]/]*)\]")
_EXTENSION = re.compile(r"\*\.[^*?\[\\.]+")
_DEPTH = "(?:[^/]+/)*?"  # any number of directories


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A path rule compiled for one directory: paths below one of `roots` whose remainder `below` matches completely."""

    rule: Rule
    roots: tuple[str, ...]  # as written, and as links lead
    below: str  # a regular expression over the remainder of the path, without its first slash
    name: str | None = None  # a name, or the suffix in *.suffix, that certainly occurs in the remainder


def path_pattern(rule: Rule, place: PathContext) -> PathPattern:
    """Compile a path rule; deny and ask rules match more than allow rules.

    An allow rule matches exactly what it says, and a person's grant only the path. A deny or ask rule also matches
    everything below a matching directory, the directory that `dir/**` names, and `dir/**` at any depth.
    """
    forbids = rule.action in (Action.DENY, Action.ASK)
    assert rule.specifier is not None
    anchor, pattern, fixed = _anchored(rule.specifier, rule.source.anchor or place.directory, place)
    pattern = pattern.rstrip(" ") if not pattern.endswith("\\ ") else pattern
    directory_only = pattern.endswith("/")
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if forbids and not fixed and len(segments) == 2 and segments[1] == "**":
        any_depth = True
    else:
        any_depth = not fixed and len(segments) == 1
    if not segments:  # the anchor itself, such as `//` or `~/`
        segments, directory_only, any_depth = ["**"], False, True
    static: list[str] = []
    if not any_depth:
        # A part without wildcards belongs to the root, so that a link in it is followed there too.
        while len(segments) > 1 and not _WILD.search(segments[0]) and segments[0] != "..":
            static.append(segments.pop(0))
    roots = spellings(posixpath.join(anchor, *static), place) or (posixpath.join(anchor, *static),)
    below = (_DEPTH if any_depth else "") + _translated(segments, forbids)
    plain_end = not _WILD.search(segments[-1])
    if directory_only:
        below += "/.*" if not forbids else "(?:/.*)?"
    elif forbids or (plain_end and rule.action is not Action.GRANT):
        below += "(?:/.*)?"
    return PathPattern(rule, roots, below, _needed(segments))


def _needed(segments: list[str]) -> str | None:
    """Return a name that a path must contain to match, so that rules can be indexed by it."""
    named = next((name for name in segments if not _WILD.search(name)), None)
    return named or next((name for name in segments if _EXTENSION.fullmatch(name)), None)


def _anchored(pattern: str, source: str, place: PathContext) -> tuple[str, str, bool]:
    """Return the directory where a pattern starts, the rest of it, and whether it applies only there."""
    if pattern.startswith("//"):
        return "/", pattern[2:], True
    if pattern == "~" or pattern.startswith("~/"):
        return place.home, pattern[2:], True
    if pattern.startswith("/"):
        return source, pattern[1:], True
    if pattern.startswith("./"):
        return place.directory, pattern[2:], True
    return place.directory, pattern, False


def _translated(segments: list[str], forbids: bool) -> str:
    """An expression for the segments joined by slashes."""
    named = list(segments)
    while named and named[-1] == "**":
        named.pop()
    if not named:
        return ".*" if forbids else ".+"
    blocks: list[list[str]] = [[]]
    for segment in named:
        if segment == "**":
            blocks.append([])
        else:
            blocks[-1].append(_segment(segment))
    first, *rest = ["/".join(block) for block in blocks]
    made = first
    if rest:
        made += "/" if first else ""
        made += "".join(f"(?>{_DEPTH}{block}/)" for block in rest[:-1] if block)  # the earliest is as good as any
        made += _DEPTH + rest[-1]
    if len(named) == len(segments):
        return made
    return made + ("(?:/.*)?" if forbids else "/.+")  # `dir/**`, where it forbids, is the directory too


def _segment(text: str) -> str:
    """An expression for one name."""
    pieces = [""]
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "*":
            pieces.append("")
        elif character == "?":
            pieces[-1] += "[^/]"
        elif character == "\\" and at < len(text):
            pieces[-1] += re.escape(text[at])
            at += 1
        elif character == "[" and (found := _CLASS.match(text, at)):
            pieces[-1] += _class(found)
            at = found.end()
        else:
            pieces[-1] += re.escape(character)
    return starred(pieces, "[^/]")


def _class(found: re.Match[str]) -> str:
    inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", found[2])
    made = f"(?!/)[{'^' if found[1] else ''}{inside}]"
    try:
        re.compile(made)
    except re.error:
        return re.escape("[" + found[0])
    return made


def folded(path: str) -> str:
    """One spelling for what some file systems take for the same name."""
    if path.isascii():
        return path.lower()
    seen = "".join(character for character in path if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", seen).casefold())


class _Below:
    """The patterns that begin at one directory: by a name they need, and one expression for those that need none."""

    def __init__(self, patterns: list[PathPattern], fold: Callable[[str], str]) -> None:
        self.first = patterns[0].rule
        self.first_seen = next((found.rule for found in patterns if not (found.name or "").startswith(".")), None)
        self._by_name: dict[str, list[tuple[re.Pattern[str], Rule]]] = {}
        self._rules: list[Rule] = []
        others: list[str] = []
        for pattern in patterns:
            below = fold(pattern.below)
            if pattern.name is not None:
                found = self._by_name.setdefault(fold(pattern.name), [])
                found.append((re.compile(below, re.DOTALL), pattern.rule))
            else:
                others.append(f"({below})")
                self._rules.append(pattern.rule)
        self._others = re.compile("|".join(others), re.DOTALL) if others else None

    def find(self, rest: str) -> Rule | None:
        if self._by_name:
            for name in rest.split("/"):
                for key in (name, f"*.{name.rpartition('.')[2]}"):
                    for expression, rule in self._by_name.get(key, ()):
                        if expression.fullmatch(rest):
                            return rule
        found = self._others.fullmatch(rest) if self._others is not None else None
        return self._rules[found.lastindex - 1] if found is not None and found.lastindex is not None else None


class PathIndex:
    """Finds the rules for a path among many, by the directory they begin at."""

    def __init__(self, patterns: Iterable[PathPattern], *, forbids: bool) -> None:
        self._fold: Callable[[str], str] = folded if forbids else str
        grouped: dict[str, list[PathPattern]] = {}
        for pattern in patterns:
            for root in pattern.roots:
                grouped.setdefault(self._fold(root), []).append(pattern)
        self._by_root = {root: _Below(found, self._fold) for root, found in grouped.items()}

    def __bool__(self) -> bool:
        return bool(self._by_root)

    def find(self, path: str) -> Rule | None:
        """The rule that one spelling of a path falls under."""
        path = self._fold(path)
        end = len(path)
        while end >= 0:
            below = self._by_root.get(path[:end] or "/")
            if below is not None and (rule := below.find(path[end + 1 :])) is not None:
                return rule
            end = path.rfind("/", 0, end) if end else -1
        return None

    def below(self, path: str, *, hidden: bool) -> Rule | None:
        """A rule that begins at a directory or below it; those for names with a dot count only where `hidden`."""
        path = self._fold(path).rstrip("/")
        for root, found in self._by_root.items():
            if root == path or root.startswith(path + "/"):
                rule = found.first if hidden else found.first_seen
                if rule is not None and (hidden or "/." not in root[len(path) :]):
                    return rule
        return None

    def any(self, paths: Iterable[str]) -> Rule | None:
        """The rule that some spelling falls under: how what forbids is asked."""
        return next((rule for path in paths if (rule := self.find(path)) is not None), None)

    def every(self, paths: tuple[str, ...]) -> Rule | None:
        """A rule, if every spelling falls under one: how what allows is asked."""
        found = [self.find(path) for path in paths]
        return found[0] if found and all(rule is not None for rule in found) else None
