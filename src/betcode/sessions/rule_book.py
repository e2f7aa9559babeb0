"""The rules that hold in a directory: read from the files of the settings hierarchy, and again when one changes."""

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.config.loading import FILE_NAME
from betcode.config.places import Places
from betcode.domain.ports import Forbidden
from betcode.rules import (
    PATH_TOOLS,
    Action,
    Layer,
    Lists,
    Place,
    Rule,
    Rules,
    SettingsText,
    Source,
    parse_rule,
    read_layers,
)
from betcode.sessions.trust import FILE_NAME as TRUST_FILE_NAME
from betcode.sessions.trust import Trust, claude_config
from betcode.sessions.watched_file import WatchedFile

logger = logging.getLogger(__name__)

_OF_PROJECTS = {Layer.LOCAL: ".claude/settings.local.json", Layer.PROJECT: ".claude/settings.json"}
_GLOB_MARKS = str.maketrans({mark: "\\" + mark for mark in "\\*?["})


@dataclass(frozen=True, slots=True)
class _Read:
    lists: Lists
    rules: Rules
    needs_trust: bool
    forbids: bool = True


class RuleBook:
    """What the rules say, as of the last `refresh`; before the first there are none, and everything asks."""

    def __init__(self, files: Mapping[Layer, Path], place: Place, trust: Trust, flags: Iterable[Rule] = ()) -> None:
        self.place = place
        self.version = 0  # counts how often it was read
        self._files = {layer: WatchedFile(path) for layer, path in files.items()}
        self._trust = trust
        self._flags = tuple(flags)
        self._read = _Read(Lists(), Rules((), place, ("its files are not read yet",)), needs_trust=False)

    @property
    def lists(self) -> Lists:
        return self._read.lists

    @property
    def rules(self) -> Rules:
        return self._read.rules

    @property
    def has_changed(self) -> bool:
        """A look at each file; one that is not there is cheap, too."""
        return self.version == 0 or self._files_changed or (self._read.needs_trust and self._trust.has_changed)

    @property
    def _files_changed(self) -> bool:
        return any(file.has_changed for file in self._files.values())

    async def refresh(self) -> bool:
        """Read what has changed, in a thread; True if anything had."""
        if not self.has_changed:
            return False
        before = self._read.lists
        self._read = await anyio.to_thread.run_sync(self._read_all)
        self.version += 1
        for problem in self.lists.problems:
            if problem not in before.problems:
                logger.warning("a permission rule cannot be used: %s", problem)
        if self.lists.untrusted and not before.untrusted:
            first = self.lists.untrusted[0].source.path
            logger.warning("%s: allow rules of a project that is not trusted do not count", first)
        return True

    def _read_all(self) -> _Read:
        for file in self._files.values():
            file.read()
        texts = [SettingsText(layer, str(file.path), file.text) for layer, file in self._files.items() if file.is_there]
        lists = read_layers(texts, trusted=False, flags=self._flags)
        needs_trust = bool(lists.untrusted)
        if needs_trust and self._trust.read():
            lists = read_layers(texts, trusted=True, flags=self._flags)
        forbids = bool(lists.broken) or any(rule.action is not Action.ALLOW for rule in lists.rules)
        return _Read(lists, lists.at(self.place), needs_trust, forbids)

    def instead(self, texts: Iterable[SettingsText]) -> Lists:
        """What other files would say in place of all that count here, with the same command line."""
        return read_layers(texts, trusted=True, flags=self._flags)

    @property
    def forbids(self) -> bool:
        """Whether anything is denied or asked about, or may be, by something that cannot be read."""
        return self._read.forbids

    @property
    def forbidden(self) -> Forbidden:
        """What an agent of Claude's kind can hold by itself."""
        rules = self.lists.rules
        return Forbidden(
            tuple(self._for_agent(rule) for rule in rules if rule.action is Action.DENY),
            tuple(self._for_agent(rule) for rule in rules if rule.action is Action.ASK),
        )

    def _for_agent(self, rule: Rule) -> str:
        """The rule with nothing in it that depends on the file it stands in."""
        path = rule.specifier or ""
        if rule.tool not in PATH_TOOLS or not path.startswith("/") or path.startswith("//"):
            return rule.text
        anchor = (rule.source.anchor or self.place.directory).translate(_GLOB_MARKS)
        return f"{rule.tool}(/{anchor.rstrip('/')}{path})"


@dataclass(frozen=True, slots=True)
class RuleShelf:
    """Makes the rule book of any directory. `places` None: only the files of projects count."""

    places: Places | None = None

    def book(
        self, directory: str, environment: Mapping[str, str] | None = None, allowed_tools: Iterable[str] = ()
    ) -> RuleBook:
        """The book of a directory for agents with that environment; `allowed_tools` are rules from a command line."""
        environment = environment or {}
        home = environment.get("HOME") or str(Path.home())
        place = Place(str(Path(directory).absolute()), home, self._guarded)
        files = {layer: Path(place.directory, name) for layer, name in _OF_PROJECTS.items()}
        own_list = None
        if self.places is not None:
            files[Layer.USER] = self.places.config_dir / FILE_NAME
            own_list = self.places.state_dir / TRUST_FILE_NAME
        trust = Trust(place.directory, own_list, claude_config(environment, home))
        return RuleBook(files, place, trust, _flags(allowed_tools))

    @property
    def _guarded(self) -> tuple[str, ...]:
        if self.places is None:
            return ()
        places = self.places
        own = (places.config_dir, places.state_dir, places.socket, places.ticket_socket)
        return tuple(dict.fromkeys(name for each in own for name in (str(each), os.path.realpath(each))))


def _flags(allowed_tools: Iterable[str]) -> list[Rule]:
    """Words that are no rules are the agent's own affair: it is given them all."""
    parsed = (parse_rule(text, Action.ALLOW, Source(Layer.FLAGS)) for text in allowed_tools)
    return [rule for rule in parsed if isinstance(rule, Rule)]
