"""The settings files that Claude Code reads by itself, beside those of the project."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from betcode.engine.permissions.trust import names_of
from betcode.engine.permissions.watched_file import WatchedFile
from betcode.rules import Layer, Lists, Rule, SettingsText, read_layers, removals
from betcode.util.user import home_directory

_SETTINGS = "settings.json"
_LOCAL = ".claude/settings.local.json"
_MANAGED = "managed-settings.json"
_FROM_THE_SERVER = "remote-settings.json"  # an organisation's settings, as Claude Code last got them
MANAGED_DIRECTORY: Final = Path(
    "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
)


@dataclass(frozen=True, slots=True)
class AgentRules:
    """What these files say."""

    user: Lists = field(default_factory=Lists)
    managed: Lists = field(default_factory=Lists)
    is_managed: bool = False  # an administrator's settings exist: they exclude settings that a launch passes
    has_unread: bool = False  # there is a local file of the repository above, which betcode does not read

    @property
    def is_known(self) -> bool:
        """Whether the user's file has no rule that betcode cannot read and that may forbid something."""
        return not self.user.broken

    @property
    def removes(self) -> bool:
        return bool(removals(self.user.rules))

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.managed.rules + self.user.rules


class AgentFiles:
    """The files for agents in one directory. `read` and `has_changed` may block."""

    def __init__(self, directory: str, environment: Mapping[str, str], managed: Path = MANAGED_DIRECTORY) -> None:
        self._directory = directory
        own = environment.get("CLAUDE_CONFIG_DIR")
        home = Path(own) if own else home_directory(environment) / ".claude"
        self._user = WatchedFile(home / _SETTINGS)
        self._managed = WatchedFile(managed / _MANAGED)
        self._served = WatchedFile(home / _FROM_THE_SERVER)
        self._drop_ins = managed / "managed-settings.d"
        self._above: list[WatchedFile] = []

    @property
    def has_changed(self) -> bool:
        return any(file.has_changed for file in self._files)

    @property
    def _files(self) -> list[WatchedFile]:
        return [self._user, self._managed, self._served, *self._above]

    def read(self) -> AgentRules:
        here = os.path.realpath(self._directory)
        self._above = [WatchedFile(Path(name, _LOCAL)) for name in names_of(here) if name != here]
        for file in self._files:
            file.read()
        drop_ins = [WatchedFile(path) for path in sorted(self._drop_ins.glob("*.json"))]
        for file in drop_ins:
            file.read()
        managed = [self._managed, *drop_ins, self._served]
        return AgentRules(
            _lists(Layer.AGENT, [self._user]),
            _lists(Layer.MANAGED, managed),
            is_managed=any(file.is_there for file in managed),
            has_unread=any(file.is_there for file in self._above),
        )


def _lists(layer: Layer, files: list[WatchedFile]) -> Lists:
    texts = [SettingsText(layer, str(file.path), file.text) for file in files if file.is_there]
    return read_layers(texts, trusted=True)
