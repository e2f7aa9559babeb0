"""The settings of providers: their container, and the types of their values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType
from betcode.providers.specs import SPECS

_MANY = 100
_Settings = TypeVar("_Settings")


def _defaults() -> Mapping[str, Any]:
    return {name: spec.defaults for name, spec in SPECS.items() if spec.settings}


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings of each provider that has any. A provider's spec declares them."""

    by_provider: Mapping[str, Any] = field(default_factory=_defaults)

    def of(self, kind: type[_Settings]) -> _Settings:
        """The settings of the provider whose settings class is `kind`."""
        return next(each for each in self.by_provider.values() if isinstance(each, kind))

    def is_changed(self, provider: str) -> bool:
        """Whether a setting of this provider differs from its default."""
        return bool(self.by_provider.get(provider) != SPECS[provider].defaults)


def commands() -> ValueType:
    """Programs with their arguments, each under a name."""
    allowed = 'an object of names and lists that begin with a program, such as {"goose": ["goose", "acp"]}'

    def read(value: object) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict) or len(value) > _MANY:
            raise NotUnderstood(allowed)
        if not all(name and name.isprintable() and _is_command(words) for name, words in value.items()):
            raise NotUnderstood(allowed)
        return {name: tuple(words) for name, words in value.items()}

    return ValueType(allowed, read, write=lambda value: {name: list(words) for name, words in value.items()})


def _is_command(words: object) -> bool:
    if not isinstance(words, list) or not all(isinstance(word, str) and "\0" not in word for word in words):
        return False
    return bool(words) and bool(words[0])


def api_address(*schemes: str) -> ValueType:
    """Parse the address of an API or a gateway; it must not contain secrets."""
    allowed = f'an address such as "{schemes[0]}://localhost:8080/v1", without a user name'

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise NotUnderstood(allowed)
        try:
            parts = urlsplit(value)
            is_good = parts.scheme in schemes and bool(parts.hostname) and "@" not in parts.netloc
            is_good = is_good and (parts.port is None or parts.port > 0)
        except ValueError:
            raise NotUnderstood(allowed) from None
        if value and not (is_good and value.isascii() and value.isprintable() and " " not in value):
            raise NotUnderstood(allowed)
        return value

    return ValueType(allowed, read, is_text=True)


def variable_name() -> ValueType:
    allowed = 'the name of a variable such as "OPENAI_API_KEY"'

    def read(value: object) -> str:
        if not isinstance(value, str) or (value and not (value.isidentifier() and value.isascii())):
            raise NotUnderstood(allowed)
        return value

    return ValueType(allowed, read, is_text=True)
