"""Rules for a directory, read from the settings hierarchy and read again when a file changes."""

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from betcode.config.load import FILE_NAME
from betcode.config.paths import Paths
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.runs.launch import Forbidden, OnlyRules
from betcode.engine.permissions.agent_files import MANAGED_DIRECTORY, AgentFiles, AgentRules
from betcode.engine.permissions.trust import FILE_NAME as TRUST_FILE_NAME
from betcode.engine.permissions.trust import Trust, claude_config
from betcode.engine.permissions.watched_file import WatchedFile
from betcode.rules import (
    FOR_PEOPLE,
    FROM_THE_PROJECT,
    PATH_TOOLS,
    READ_BY_AGENT,
    Action,
    Layer,
    Lists,
    PathContext,
    Rule,
    Rules,
    SettingsText,
    Source,
    parse_rule,
    read_layers,
    removal,
    removals,
    removes_tool,
)
from betcode.util.bounded_io import ANSWERS_WITHIN_S, BoundedIO, follow_links
from betcode.util.user import home_directory

logger = logging.getLogger(__name__)

_OF_PROJECTS = {Layer.LOCAL: ".claude/settings.local.json", Layer.PROJECT: ".claude/settings.json"}
_NO_ANSWER = "a settings file that cannot be read (timeout)"
_EVERY_USE = {"Bash": "Bash(**)"}  # Claude Code denies each use of these and keeps the tool
_GLOB_MARKS = str.maketrans({mark: "\\" + mark for mark in "\\*?["})


@dataclass(frozen=True, slots=True)
class _Read:
    lists: Lists
    rules: Rules
    needs_trust: bool
    forbids: bool = True
    agent: AgentRules = field(default_factory=AgentRules)


class RuleBook:
    """What the rules say, as of the last `refresh`; before the first there are none, and everything asks."""

    def __init__(
        self,
        files: Mapping[Layer, Path],
        place: PathContext,
        trust: Trust,
        flags: Iterable[Rule] = (),
        file_io: BoundedIO | None = None,
        agent_files: AgentFiles | None = None,
    ) -> None:
        self.place = place
        self.version = 0  # counts how often it was read
        self._files = {layer: WatchedFile(path) for layer, path in files.items()}
        self._trust = trust
        self._flags = tuple(flags)
        self._agent_files = agent_files
        self.file_io = file_io or BoundedIO()
        self._must_read = True
        self._is_unknown = False  # the files gave no answer the last time
        self._read = _Read(Lists(), Rules((), place, ("its files are not read yet",)), needs_trust=False)

    @property
    def lists(self) -> Lists:
        return self._read.lists

    @property
    def rules(self) -> Rules:
        return self._read.rules

    async def has_changed(self) -> bool:
        """Whether `refresh` would find something else; it may err to yes."""
        try:
            return self._must_read or await self.file_io.run(self._look)
        except FilesystemTimeout:
            return not self._is_unknown

    def _look(self) -> bool:
        """A look at each file; one that is not there is cheap, too. It may block."""
        return self._files_changed or (self._read.needs_trust and self._trust.has_changed)

    @property
    def _files_changed(self) -> bool:
        agent_changed = self._agent_files is not None and self._agent_files.has_changed
        return agent_changed or any(file.has_changed for file in self._files.values())

    async def refresh(self) -> bool:
        """Read what has changed; True if anything had. While the files give no answer nothing is allowed by rule."""
        before, must_read = self._read.lists, self._must_read
        self._must_read = True  # a look that nobody waits for to its end leaves files taken for read
        try:
            read = await self.file_io.run(lambda: self._read_all() if must_read or self._look() else None)
        except FilesystemTimeout as trouble:
            return self._go_without(trouble)
        self._must_read = self._is_unknown = False
        if read is None:
            return False
        self._read = read
        self.version += 1
        for problem in self.lists.problems:
            if problem not in before.problems:
                logger.warning("a permission rule cannot be used: %s", problem)
        if self.lists.untrusted and not before.untrusted:
            first = self.lists.untrusted[0].source.path
            logger.warning("%s: allow rules of a project that is not trusted do not count", first)
        return True

    def _go_without(self, trouble: FilesystemTimeout) -> bool:
        """What was known to be forbidden stays so. All is read anew when there is an answer."""
        if self._is_unknown:
            return False
        self._is_unknown = True
        self._read = replace(self._read, rules=self.rules.with_broken(_NO_ANSWER), forbids=True)
        self.version += 1
        logger.warning(
            "the settings files of %s cannot be read (%s): no rule allows anything", self.place.directory, trouble
        )
        return True

    def _read_all(self) -> _Read:
        for file in self._files.values():
            file.read()
        texts = [SettingsText(layer, str(file.path), file.text) for layer, file in self._files.items() if file.is_there]
        lists = read_layers(texts, trusted=False, flags=self._flags)
        needs_trust = bool(lists.untrusted)
        if needs_trust and self._trust.read():
            lists = read_layers(texts, trusted=True, flags=self._flags)
        agent = AgentRules() if self._agent_files is None else self._agent_files.read()
        lists = _with_agent(lists, agent)
        forbids = bool(lists.broken) or any(rule.action is not Action.ALLOW for rule in lists.rules)
        rules = lists.at(self.place)
        rules.directories  # noqa: B018 - looked up here, where it may take long
        return _Read(lists, rules, needs_trust, forbids, agent)

    def instead(self, texts: Iterable[SettingsText]) -> Lists:
        """What other files would say in place of all that count here, with the same command line.

        The agent's own settings are in force with any rules.
        """
        return _with_agent(read_layers(texts, trusted=True, flags=self._flags), self._read.agent)

    @property
    def forbids(self) -> bool:
        """Whether anything is denied or asked about, or may be, by something that cannot be read."""
        return self._read.forbids

    def forbidden(self, *, calls_are_screened: bool) -> Forbidden:
        """The rules that an agent of Claude's kind enforces by itself, in its own format.

        Tools that only people answer are left out. With `calls_are_screened` so are rules for a whole tool that the
        agent has no other spelling for: it would remove the tool, and nobody would learn of the denial.
        """
        rules = [rule for rule in self.lists.rules if rule.tool not in FOR_PEOPLE]
        deny = (self._deny_for_agent(rule, calls_are_screened) for rule in rules if rule.action is Action.DENY)
        return Forbidden(
            tuple(rule for rule in deny if rule is not None),
            tuple(self._for_agent(rule) for rule in rules if rule.action is Action.ASK),
        )

    def only_rules(self, *, calls_are_screened: bool, reads_project: bool) -> OnlyRules | None:
        """All rules for an agent of Claude's kind, if its own files would remove a tool that they should not.

        That is a tool that only people answer, and with `calls_are_screened` every tool, since betcode denies each use
        itself. None also where the rules of its files are not known as a whole, or an administrator's settings exist.
        """
        agent = self._read.agent
        read = self._read_by_agent(reads_project)
        removed = [rule for rule in removals(read) if calls_are_screened or rule.tool in FOR_PEOPLE]
        if not removed or agent.is_managed or agent.has_unread or not agent.is_known or self.lists.broken:
            return None
        own = [rule for rule in (*read, *agent.user.rules) if rule.action is Action.ALLOW]
        allow = [self._for_agent(rule) for rule in own if rule.source.layer in READ_BY_AGENT]
        forbidden = self.forbidden(calls_are_screened=calls_are_screened)
        return OnlyRules(tuple(allow), forbidden.ask, forbidden.deny)

    def removal(self, tool: str, *, reads_project: bool = True) -> Rule | None:
        """The rule in a file that the agent reads by itself which removes this tool from the model's list."""
        return removal((*self._read.agent.rules, *self._read_by_agent(reads_project)), tool)

    def _read_by_agent(self, reads_project: bool) -> list[Rule]:
        return [rule for rule in self.lists.rules if reads_project or rule.source.layer not in FROM_THE_PROJECT]

    @property
    def needs_screening(self) -> bool:
        """Whether a deny rule is left out of what a screened agent enforces by itself."""
        rules = (rule for rule in self.lists.rules if rule.action is Action.DENY and rule.tool not in FOR_PEOPLE)
        return any(self._deny_for_agent(rule, calls_are_screened=True) is None for rule in rules)

    def _deny_for_agent(self, rule: Rule, calls_are_screened: bool) -> str | None:
        if not calls_are_screened or not removes_tool(rule):
            return self._for_agent(rule)
        return _EVERY_USE.get(rule.tool)

    def _for_agent(self, rule: Rule) -> str:
        """The rule with nothing in it that depends on the file it stands in."""
        path = rule.specifier or ""
        if rule.tool not in PATH_TOOLS or not path.startswith("/") or path.startswith("//"):
            return rule.text
        anchor = (rule.source.anchor or self.place.directory).translate(_GLOB_MARKS)
        return f"{rule.tool}(/{anchor.rstrip('/')}{path})"


@dataclass(frozen=True, slots=True)
class RuleShelf:
    """Makes the rule book of any directory. `paths` None: only the files of projects count."""

    paths: Paths | None = None
    answers_within_s: float = ANSWERS_WITHIN_S  # a file system
    managed: Path = MANAGED_DIRECTORY
    trusts_for_claude: bool = False  # a project that a person trusts here is entered in Claude Code's own list, too

    def prepare(self) -> None:
        """Look up what every book needs, so that making one looks at no file; never on the event loop."""
        home_directory({})
        if self.paths is not None:
            _guarded(self.paths)

    def book(
        self,
        directory: str,
        environment: Mapping[str, str] | None = None,
        allowed_tools: Iterable[str] = (),
        *,
        of_claude: bool = True,
    ) -> RuleBook:
        """The book of a directory for agents with that environment; `allowed_tools` are rules from a command line.

        `of_claude`: the agents also read the user's settings of Claude Code.
        """
        environment = environment or {}
        home = str(home_directory(environment))
        guarded = () if self.paths is None else _guarded(self.paths)
        place = PathContext(str(Path(directory).absolute()), home, guarded, follow_links)
        files = {layer: Path(place.directory, name) for layer, name in _OF_PROJECTS.items()}
        if self.paths is not None:
            files[Layer.USER] = self.paths.config_dir / FILE_NAME
        trust = self.trust(place.directory, environment)
        agent_files = AgentFiles(place.directory, environment, self.managed) if of_claude else None
        return RuleBook(files, place, trust, _flags(allowed_tools), BoundedIO(self.answers_within_s), agent_files)

    def trust(self, directory: str, environment: Mapping[str, str]) -> Trust:
        """Whether people trust that directory."""
        own_list = None if self.paths is None else self.paths.state_dir / TRUST_FILE_NAME
        home = str(home_directory(environment))
        return Trust(directory, own_list, claude_config(environment, home))


def _with_agent(lists: Lists, agent: AgentRules) -> Lists:
    """With what the user's own file of the agent forbids, where it removes a tool: betcode denies each use then."""
    if not agent.removes or not agent.is_known:
        return lists
    return replace(lists, rules=(*lists.rules, *(rule for rule in agent.user.rules if rule.action is not Action.ALLOW)))


@lru_cache(maxsize=8)  # looked at when a daemon has its first session, and not again
def _guarded(paths: Paths) -> tuple[str, ...]:
    own = (paths.config_dir, paths.state_dir, paths.socket, paths.ticket_socket)
    return tuple(dict.fromkeys(name for each in own for name in (str(each), os.path.realpath(each))))


def _flags(allowed_tools: Iterable[str]) -> list[Rule]:
    """Words that are no rules are the agent's own affair: it is given them all."""
    parsed = (parse_rule(text, Action.ALLOW, Source(Layer.FLAGS)) for text in allowed_tools)
    return [rule for rule in parsed if isinstance(rule, Rule)]
