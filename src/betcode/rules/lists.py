"""A list of rules, indexed for one session's paths."""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property

from betcode.rules.domains import HostIndex
from betcode.rules.globs import PathIndex, path_pattern
from betcode.rules.patterns import CommandIndex
from betcode.rules.rule import COMMAND_TOOLS, NAMED_TOOLS, PATH_TOOLS, Action, Rule, parameter, understood
from betcode.rules.session_paths import PathContext
from betcode.rules.wildcards import wildcard

READING = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_NAMES_AT_MOST = 1024  # of tools whose results are cached


def canonical(tool: str) -> str:
    return "Agent" if tool == "Task" else tool


class RuleList:
    """All rules of one action."""

    def __init__(self, rules: Iterable[Rule], place: PathContext, *, forbids: bool) -> None:
        self.rules = tuple(rules)
        self.is_granted = any(rule.action is Action.GRANT for rule in self.rules)
        self._names: dict[str, Rule] = {}
        self._globs: list[tuple[re.Pattern[str], Rule]] = []
        self._known: dict[str, Rule | None] = {}
        self._forbids = forbids
        paths: dict[str, list[Rule]] = {}
        commands: dict[str, list[Rule]] = {}
        hosts: list[Rule] = []
        self._called: dict[str, list[tuple[re.Pattern[str], Rule]]] = {}
        self._parameters: dict[str, list[tuple[str, re.Pattern[str], Rule]]] = {}
        self._puzzling: dict[str, Rule] = {}
        self._scoped: set[str] = set()
        for rule in self.rules:
            tool = canonical(rule.tool)
            if rule.specifier is None:
                self._add_name(tool, rule)
                continue
            self._scoped.add(tool)
            if forbids and (found := parameter(rule)) is not None:
                self._parameters.setdefault(tool, []).append((found[0], wildcard(found[1]), rule))
            if not understood(rule):
                self._puzzling.setdefault(tool, rule)
            elif rule.tool in PATH_TOOLS:
                paths.setdefault(tool, []).append(rule)
            elif rule.tool in COMMAND_TOOLS:
                commands.setdefault(tool, []).append(rule)
            elif rule.tool in NAMED_TOOLS:
                self._called.setdefault(tool, []).append((wildcard(_name_pattern(rule.specifier)), rule))
            elif rule.tool == "WebFetch" and rule.specifier.startswith("domain:"):
                hosts.append(rule)
        self._paths = {
            tool: PathIndex([path_pattern(rule, place) for rule in of], forbids=forbids) for tool, of in paths.items()
        }
        self._hosts = HostIndex(hosts)
        self._commands = {tool: CommandIndex(of) for tool, of in commands.items()}

    def _add_name(self, tool: str, rule: Rule) -> None:
        if "*" in tool:
            self._globs.append((wildcard(tool), rule))
        else:
            self._names.setdefault(tool, rule)

    def whole(self, tool: str) -> Rule | None:
        """A rule for every use of the tool."""
        if tool not in self._known:
            if len(self._known) >= _NAMES_AT_MOST:
                self._known.clear()
            self._known[tool] = self._look_up(tool)
        return self._known[tool]

    def _look_up(self, tool: str) -> Rule | None:
        name = canonical(tool)
        if name in self._names:
            return self._names[name]
        if name.startswith("mcp__"):
            parts = name.split("__")
            # A server is one name; what forbids takes every reading of a name with more underscores.
            for length in range(2, len(parts) if self._forbids else min(3, len(parts))):
                if (rule := self._names.get("__".join(parts[:length]))) is not None:
                    return rule
        return next((rule for glob, rule in self._globs if glob.fullmatch(name)), None)

    def scoped(self, tool: str) -> bool:
        """Are there rules for some uses of the tool only?"""
        tool = canonical(tool)
        if tool in READING | EDITING:
            return bool(self._scoped & (READING | EDITING))
        return tool in self._scoped

    def puzzling(self, tool: str) -> Rule | None:
        """Return a rule for the tool whose specifier is not supported."""
        return self._puzzling.get(canonical(tool))

    def by_parameter(self, tool: str, values: Mapping[str, object]) -> Rule | None:
        for name, pattern, rule in self._parameters.get(canonical(tool), ()):
            value = values.get(name)
            if isinstance(value, bool):
                value = "true" if value else "false"
            if isinstance(value, str | int | float) and pattern.fullmatch(str(value)):
                return rule
        return None

    def commands(self, tool: str) -> CommandIndex | None:
        return self._commands.get(tool)

    @property
    def about_hosts(self) -> bool:
        return "WebFetch" in self._scoped

    def by_host(self, host: str) -> Rule | None:
        return self._hosts.find(host)

    def by_name(self, tool: str, name: str) -> Rule | None:
        return next((rule for pattern, rule in self._called.get(canonical(tool), ()) if pattern.fullmatch(name)), None)

    def forbidden_path(self, tool: str, paths: tuple[str, ...]) -> Rule | None:
        """Return a rule against the path: a path that may not be read may not be edited either."""
        return next((rule for index in self._against(tool) if (rule := index.any(paths))), None)

    def forbidden_below(self, tool: str, paths: tuple[str, ...], *, hidden: bool = True) -> Rule | None:
        """Return a rule against a path at or below a directory."""
        found = (index.below(path, hidden=hidden) for index in self._against(tool) for path in paths)
        return next((rule for rule in found if rule is not None), None)

    def forbidden_to_write_below(self, paths: tuple[str, ...]) -> Rule | None:
        """Return a rule against changing a path at or below a directory, if there is no rule against reading it."""
        found = (self._paths[tool].below(path, hidden=True) for tool in EDITING & self._paths.keys() for path in paths)
        return next((rule for rule in found if rule is not None), None)

    def _against(self, tool: str) -> Iterator[PathIndex]:
        for name in (tool, "Read", "Edit") if tool in EDITING else (tool, "Read"):
            if name in self._paths:
                yield self._paths[name]

    def allowed_path(self, tool: str, paths: tuple[str, ...]) -> Rule | None:
        asked = [tool, "Edit"] if tool in EDITING else [tool, "Read"]
        return next((rule for name in asked if (index := self._paths.get(name)) and (rule := index.every(paths))), None)


def _name_pattern(specifier: str) -> str:
    return specifier[:-2] + "*" if specifier.endswith(":*") else specifier


class Rules:
    """The rules of a session: all layers united, each list in order."""

    def __init__(self, rules: Iterable[Rule], place: PathContext, broken: Iterable[str] = ()) -> None:
        rules = tuple(rules)
        self.place = place
        self.broken = tuple(broken)  # files whose rules are unknown, so that nothing is allowed by rule
        self.deny = RuleList((rule for rule in rules if rule.action is Action.DENY), place, forbids=True)
        self.ask = RuleList((rule for rule in rules if rule.action is Action.ASK), place, forbids=True)
        self.allow = RuleList((rule for rule in rules if rule.action is Action.ALLOW), place, forbids=False)

    def with_broken(self, name: str) -> "Rules":
        """Return the same rules, marked as incomplete because a file cannot be read."""
        rules = copy(self)
        rules.broken = (*self.broken, name)
        return rules

    @cached_property
    def directories(self) -> tuple[str, ...]:
        """The session's own, and the one that its name leads to."""
        top = self.place.resolve(self.place.directory)
        return (self.place.directory,) if top == self.place.directory else (self.place.directory, top)


class Grants:
    """The grants and refusals of people for the rest of a session."""

    def __init__(self, rules: Iterable[Rule], place: PathContext) -> None:
        rules = tuple(rules)
        self.deny = RuleList((rule for rule in rules if rule.action is Action.DENY), place, forbids=True)
        self.allow = RuleList((rule for rule in rules if rule.action is Action.GRANT), place, forbids=False)
