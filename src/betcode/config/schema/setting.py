"""The declaration of one setting."""

from dataclasses import dataclass

from betcode.config.fields import value_at
from betcode.config.settings import Settings
from betcode.config.value_types import ValueType


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    field: str  # in Settings, with dots; a part can also be the key of a mapping
    kind: ValueType
    help: str
    variable: str = ""  # in the environment; empty: made from the key
    at_once: bool = True  # a running daemon applies it after a reload; otherwise the next daemon does
    is_private: bool = False  # its value is not repeated anywhere
    of_project: bool = False  # a project's own settings may set it too, for sessions that start there

    @property
    def environment_name(self) -> str:
        return self.variable or "BETCODE_" + self.key.upper().replace(".", "_")

    @property
    def default(self) -> object:
        return self.value_in(Settings())

    def value_in(self, settings: Settings) -> object:
        return value_at(settings, self.field)
