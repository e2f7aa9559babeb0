"""Value types of provider settings: programs, addresses and environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType

WireApi = Literal["auto", "responses", "chat"]
_MANY = 100


@dataclass(frozen=True, slots=True)
class CodexSettings:
    path: str = ""  # of the program; empty: codex on the session's PATH


@dataclass(frozen=True, slots=True)
class AcpSettings:
    # By the name of a profile: the program that speaks ACP and its arguments, instead of the profile's own.
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenAiSettings:
    base_url: str = ""  # of the API, with its version; empty: that of OpenAI
    api_key_env: str = "OPENAI_API_KEY"  # the variable of a session's environment that holds the key
    wire_api: WireApi = "auto"  # auto: Responses where base_url is empty, Chat Completions everywhere else
    model: str = ""  # of sessions that name none
    context_tokens: int = 128_000  # the size of the model's context


@dataclass(frozen=True, slots=True)
class OpenClawSettings:
    url: str = ""  # of a gateway that runs somewhere; empty: the one at `port` on this machine
    token_file: str = ""  # holds the gateway's token; empty: that of the gateway we start
    program: str = ""  # empty: openclaw on the session's PATH
    port: int = 18790  # of the gateway on this machine; 18789 is the default port of a person's own gateway
    start: bool = False  # whether a gateway is started where none runs


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One part for each kind of agent; its provider is made from it."""

    codex: CodexSettings = field(default_factory=CodexSettings)
    acp: AcpSettings = field(default_factory=AcpSettings)
    openai: OpenAiSettings = field(default_factory=OpenAiSettings)
    openclaw: OpenClawSettings = field(default_factory=OpenClawSettings)


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
