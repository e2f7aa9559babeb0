"""Evaluates a tool call: deny, then ask, then allow, then grants; without a match, ask a person."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec

from betcode.rules.domains import host_of
from betcode.rules.lists import EDITING, READING, Grants, RuleList, Rules, canonical
from betcode.rules.patterns import CommandIndex, covering, speaking_of
from betcode.rules.programs.command_files import TooManyNames, TouchedFiles, short
from betcode.rules.protected_files import guarded_name, mentions
from betcode.rules.rule import COMMAND_TOOLS, NAMED_TOOLS, Rule
from betcode.rules.session_paths import PathContext, expanded, is_by_process, spellings, within
from betcode.rules.syntax.commands import Script, Unclear, Word
from betcode.rules.syntax.shell import taken_apart
from betcode.rules.syntax.variables import is_own_variable
from betcode.rules.syntax.words import coarse_pieces
from betcode.rules.uncertainty import unsure_commands, unsure_hosts

FOR_PEOPLE: Final = frozenset({"AskUserQuestion", "ExitPlanMode"})  # no rule answers these
INPUT_CHARACTERS: Final = 16 * 1024 * 1024
_PATH_FIELDS: Final = {
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "Grep": "path",
    "Glob": "path",
    "LS": "path",
}
# A person who grants a command has seen it run in the sandbox, and finish.
_NOT_GRANTED: Final = ("dangerouslyDisableSandbox", "run_in_background")


class ScreenOutcome(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool, with the agent's own input."""

    tool: str
    input: dict[str, object] | None  # None: it was no JSON object
    cwd: str | None = None  # where a shell command begins, if that is not the session's directory

    @classmethod
    def of(cls, tool: str, input_json: str | bytes, cwd: str | None = None) -> "ToolUse":
        """A call as the agent wrote it; never raises."""
        try:
            found = msgspec.json.decode(input_json) if len(input_json) <= INPUT_CHARACTERS else None
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            found = None
        return cls(tool, found if isinstance(found, dict) else None, cwd)


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: ScreenOutcome
    reason: str
    rules: tuple[Rule, ...] = field(default=())  # those that decided, the first for the first part of a command

    @property
    def rule(self) -> Rule | None:
        return self.rules[0] if self.rules else None


def screen(use: ToolUse, rules: Rules, grants: Grants | None = None) -> Verdict:
    """Decide about one use of a tool. The result depends only on the use and the rules; nothing is raised.

    A deny of any part denies the whole, an ask of any part asks, and an allow must cover every part.
    """
    if use.tool in FOR_PEOPLE:
        return Verdict(ScreenOutcome.ASK, f"{use.tool} can only be answered by a person")
    subject = _Subject(use, rules)
    return _objection(subject, rules, grants) or subject.allowed(
        [rules.allow] if grants is None else [rules.allow, grants.allow]
    )


def objection(use: ToolUse, rules: Rules, grants: Grants | None = None) -> Verdict | None:
    """Return what rules have against a use that they need not allow: a deny, an ask, or an uncertainty about either.

    None leaves the decision to another component. Uses that only people answer never have an objection.
    """
    return None if use.tool in FOR_PEOPLE else _objection(_Subject(use, rules), rules, grants)


def _objection(subject: "_Subject", rules: Rules, grants: Grants | None) -> Verdict | None:
    denying = [rules.deny] if grants is None else [rules.deny, grants.deny]
    for listed, outcome in (*((listed, ScreenOutcome.DENY) for listed in denying), (rules.ask, ScreenOutcome.ASK)):
        rule = subject.forbidden(listed)
        if rule is not None:
            return Verdict(outcome, f"it matches {rule.text}", (rule,))
        rule = listed.puzzling(subject.tool)
        if rule is not None:
            return Verdict(ScreenOutcome.ASK, f"the rule {rule.text} is not supported", (rule,))
    if rules.broken:
        return Verdict(ScreenOutcome.ASK, f"{rules.broken[0]} cannot be read, so nothing is allowed by rule")
    unsure = subject.unsure((*denying, rules.ask))
    return None if unsure is None else Verdict(ScreenOutcome.ASK, unsure)


def segments(use: ToolUse) -> tuple[str, ...]:
    """The commands in a shell command, also those that others start; () for anything else, and where it is unclear."""
    command = (use.input or {}).get("command")
    script = taken_apart(command.strip()) if use.tool == "Bash" and isinstance(command, str) else None
    if not isinstance(script, Script):
        return ()
    return tuple(dict.fromkeys(part.command.prefix + part.command.written for part in script.all()))


class Coverage:
    """The single rules that would each allow one use, if no other rule applies to it."""

    def __init__(self, use: ToolUse, place: PathContext) -> None:
        self._subject = _Subject(use, Rules((), place))
        self._place = place

    @property
    def path(self) -> str | None:
        """Return the file or directory that a file tool is used on, as written; None if unknown."""
        return next(iter(self._subject.paths), None)

    @property
    def script(self) -> Script | None:
        """Return the parts of a shell command; None if there is none, or it is unclear."""
        return self._subject.script if isinstance(self._subject.script, Script) else None

    def by(self, rule: Rule) -> bool:
        if self._subject.tool in FOR_PEOPLE:
            return False
        return self._subject.allowed([Grants([rule], self._place).allow]).outcome is ScreenOutcome.ALLOW


class _Subject:
    """The subject of a use: a command, a path, a host, a name, or just the tool."""

    def __init__(self, use: ToolUse, rules: Rules) -> None:
        self.use = use
        self.tool = use.tool
        self.input = use.input or {}
        self._rules = rules
        self._place = rules.place
        self.script: Script | Unclear | None = None
        self.touched: TouchedFiles | None = None
        self.paths: tuple[str, ...] = ()
        self.host: str | None = None
        command = self.input.get("command")
        if self.tool in COMMAND_TOOLS:
            self.command = command.strip() if isinstance(command, str) else ""
            if self.tool == "Bash" and self.command:
                self.script = taken_apart(self.command)
            else:
                self.script = Unclear(
                    f"commands of {self.tool} are not parsed" if self.command else "there is no command"
                )
            if isinstance(self.script, Script):
                self.touched = TouchedFiles(self.script, rules, use.cwd)
        elif self.tool in READING | EDITING:
            self.paths = self._own_paths()
        elif self.tool == "WebFetch":
            address = self.input.get("url")
            self.host = host_of(address) if isinstance(address, str) else None

    def _own_paths(self) -> tuple[str, ...]:
        path = self.input.get(_PATH_FIELDS.get(self.tool, "file_path"))
        if path is None and self.tool in ("Grep", "Glob", "LS"):
            path = self._place.directory
        if not isinstance(path, str):
            return ()
        found = spellings(path, self._place)
        pattern = self.input.get("pattern")
        if self.tool == "Glob" and isinstance(pattern, str) and (pattern.startswith(("/", "~")) or ".." in pattern):
            fixed = pattern[: min([len(pattern), *(at for mark in "*?[{" if (at := pattern.find(mark)) >= 0)])]
            start = posixpath.dirname(fixed) if fixed != pattern else fixed
            base = expanded(path, self._place)
            found = spellings(start or "/", self._place, base) if ".." not in pattern[len(fixed) :] else ()
        return found

    def _searched(self) -> tuple[str, ...]:
        """The one file that a search is limited to."""
        name = self.input.get({"Grep": "glob", "Glob": "pattern"}.get(self.tool, ""))
        name = name.removeprefix("**/") if isinstance(name, str) else ""
        settled = name and not any(mark in name for mark in "*?[{")
        return spellings(name, self._place, self.paths[0]) if settled else ()

    # Deny and ask: any part, in any of its forms.

    def forbidden(self, listed: RuleList) -> Rule | None:
        rule = listed.whole(self.tool) or listed.by_parameter(self.tool, self.input)
        if rule is not None or not listed.rules:
            return rule
        if self.script is not None:
            return self._forbidden_command(listed)
        if self.paths:
            return listed.forbidden_path(self.tool, self.paths + self._searched())
        if self.host is not None:
            return listed.by_host(self.host)
        if canonical(self.tool) in NAMED_TOOLS:
            name = self._name()
            return listed.by_name(self.tool, name) if name is not None else None
        return None

    def _forbidden_command(self, listed: RuleList) -> Rule | None:
        index = listed.commands(self.tool)
        if index is not None:
            found = index.forbids_text(self.command)
            if found is None and isinstance(self.script, Unclear):
                found = next(
                    (rule for piece in coarse_pieces(self.command) if (rule := index.forbids_text(piece))), None
                )
            if found is None and isinstance(self.script, Script):
                found = next((rule for part in self.script.all() if (rule := index.forbids(part.command))), None)
            if found is not None:
                return found
        if self.touched is not None and listed.scoped("Edit"):
            return self.touched.forbidden(listed)
        return None

    def unsure(self, lists: Sequence[RuleList]) -> str | None:
        """Return why it is uncertain whether a rule forbids this, if there are rules that might."""
        if self.touched is not None:
            return self._unsure_command(lists, self.touched)
        about = self.tool if any(listed.scoped(self.tool) for listed in lists) else None
        if about is not None and isinstance(self.script, Unclear):
            return f"{self.script.reason}, and there are rules about commands"
        if isinstance(self.script, Unclear) and any(listed.scoped("Edit") for listed in lists):
            return f"{self.script.reason}, and there are rules about files"
        if about in READING | EDITING and (not self.paths or any(map(is_by_process, self.paths))):
            return "the file is unknown, and there are rules about files"
        if about == "WebFetch" and self.host is None:
            return "the host is unknown, and there are rules about hosts"
        return None

    def _unsure_command(self, lists: Sequence[RuleList], touched: TouchedFiles) -> str | None:
        assert isinstance(self.script, Script)
        if any(listed.scoped(self.tool) for listed in lists):
            indices = [index for listed in lists if (index := listed.commands(self.tool)) is not None]
            reason = unsure_commands(self.script, indices)
            if reason is not None:
                return reason
        about = [listed for listed in lists if listed.scoped("Edit")]
        reason = touched.unsure(about) if about else None
        return reason or unsure_hosts(self.script, [listed for listed in lists if listed.about_hosts])

    # Allow: every part.

    def allowed(self, lists: Sequence[RuleList]) -> Verdict:
        """The verdict by the first list, or the first two, and so on: a rule is named before a grant."""
        verdict = self._allowed(lists[:1])
        for number in range(2, len(lists) + 1):
            if verdict.outcome is ScreenOutcome.ASK:
                verdict = self._allowed(lists[:number])
        return verdict

    def _allowed(self, lists: Sequence[RuleList]) -> Verdict:
        if self.use.input is None:
            return Verdict(ScreenOutcome.ASK, "its input could not be read, so no rule allows it")
        guarded = guarded_name(self.paths, self._place.guarded) if self.tool in EDITING else None
        for listed in lists:
            rule = listed.whole(self.tool)
            if rule is not None and guarded is None:
                return Verdict(ScreenOutcome.ALLOW, f"it matches {rule.text}", (rule,))
        if self.script is not None:
            is_special = any(self.input.get(name) not in (None, False) for name in _NOT_GRANTED)
            return self._allowed_command([listed for listed in lists if not (is_special and listed.is_granted)])
        for listed in lists:
            rule = self._rule(listed)
            if rule is not None and (guarded is None or mentions(rule, guarded)):
                return Verdict(ScreenOutcome.ALLOW, f"it matches {rule.text}", (rule,))
        if guarded is not None:
            return Verdict(ScreenOutcome.ASK, f"only a rule that names {guarded} covers it")
        return Verdict(ScreenOutcome.ASK, "no rule covers it")

    def _rule(self, listed: RuleList) -> Rule | None:
        """A rule that covers a use which is no command."""
        if self.paths:
            return listed.allowed_path(self.tool, self.paths)
        if self.host is not None:
            return listed.by_host(self.host)
        if canonical(self.tool) in NAMED_TOOLS and (name := self._name()) is not None:
            return listed.by_name(self.tool, name)
        return None

    def _name(self) -> str | None:
        name = self.input.get("subagent_type") if canonical(self.tool) == "Agent" else self.input.get("skill")
        if name is None and self.tool == "Skill":
            name = self.input.get("command")
        return name if isinstance(name, str) else None

    def _allowed_command(self, lists: Sequence[RuleList]) -> Verdict:
        indices = [index for listed in lists if (index := listed.commands(self.tool)) is not None]
        for index in indices:
            exact = index.exact(self.command)
            if exact is not None:
                return Verdict(ScreenOutcome.ALLOW, f"{exact.text} matches exactly this command", (exact,))
        if isinstance(self.script, Unclear):
            return Verdict(ScreenOutcome.ASK, self.script.reason)
        assert self.script is not None
        used: list[Rule] = []
        for part in self.script.parts:
            found = covering(part, indices)
            if found is None:
                return Verdict(ScreenOutcome.ASK, f"no rule covers {short(part)}")
            used += found
        held = self._held_back(indices)
        if held is not None:
            return Verdict(ScreenOutcome.ASK, held)
        for tool, words in (("Edit", self.script.writes), ("Read", self.script.reads)):
            for word in words:
                rule = self._redirect(tool, word, self.script, lists)
                if rule is None:
                    return Verdict(ScreenOutcome.ASK, f"no rule covers {tool.lower()}ing {word.written[:60]}")
                used += rule
        if not used:
            return Verdict(ScreenOutcome.ASK, "no rule covers anything in it")
        return Verdict(
            ScreenOutcome.ALLOW, f"covered by {', '.join(dict.fromkeys(rule.text for rule in used))}", tuple(used)
        )

    def _held_back(self, indices: Sequence[CommandIndex]) -> str | None:
        """Return why rules that cover every command are not enough."""
        assert isinstance(self.script, Script)
        assert self.touched is not None
        for assigned in self.script.assignments:
            if not is_own_variable(assigned.name):
                return f"it sets {assigned.name}"
        try:
            for name, part in self.touched.guarded():
                if not any(mentions(rule, name) for rule in speaking_of(self.script, indices)):
                    return f"only a rule that names {name} covers {short(part)}"
            for directory, part in self.touched.away():
                if not any(directory in (rule.specifier or "").split() for rule in speaking_of(self.script, indices)):
                    return f"only a rule that names {directory} covers {short(part)} there"
        except TooManyNames:
            return "it names more files than can be checked"
        return None

    def _redirect(self, tool: str, word: Word, script: Script, lists: Sequence[RuleList]) -> tuple[Rule, ...] | None:
        path = word.value
        if path is None or (script.moves and not path.startswith("/")):
            return None
        if self.touched is None or self.touched.relinks:
            return None
        paths = spellings(path, self._place, self.use.cwd) if not path.startswith("~") else ()
        if tool == "Read" and within(paths, self._rules.directories):
            return ()
        guarded = guarded_name(paths, self._place.guarded) if tool == "Edit" else None
        for listed in lists:
            rule = listed.whole(tool) if guarded is None else None
            rule = rule or (listed.allowed_path(tool, paths) if paths else None)
            if rule is not None and (guarded is None or mentions(rule, guarded)):
                return (rule,)
        return None
