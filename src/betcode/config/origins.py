"""The origin of a value: the layers of the settings, the strongest first."""

from dataclasses import dataclass
from enum import StrEnum


class Layer(StrEnum):
    FLAG = "flag"
    ENVIRONMENT = "environment"
    LOCAL = "local"  # .claude/settings.local.json of a project
    PROJECT = "project"  # .claude/settings.json of a project
    USER = "user"
    DEFAULT = "default"


# A repository can contain both files, although one of them is intended to be personal.
OF_PROJECTS = {Layer.LOCAL: ".claude/settings.local.json", Layer.PROJECT: ".claude/settings.json"}


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    layer: Layer = Layer.DEFAULT
    name: str = ""  # a flag, a variable, or a file
    line: int = 0

    def __str__(self) -> str:
        """For people, and short: "BETCODE_LOG_LEVEL", "/home/ada/.config/betcode/settings.json:4"."""
        return (f"{self.name}:{self.line}" if self.line else self.name) or self.layer.value

    @property
    def words(self) -> str:
        """The beginning of a sentence about a value from there."""
        return f"{self.name}, line {self.line}" if self.line else str(self)


@dataclass(frozen=True, slots=True)
class UncheckedSetting:
    """A value as written in its source, not validated yet."""

    key: str
    value: object
    origin: SettingOrigin


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem, as one sentence; `key` is empty for a whole file."""

    sentence: str
    key: str = ""
