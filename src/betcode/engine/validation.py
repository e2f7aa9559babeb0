"""Validate client requests before anything is created."""

import math
import os
from dataclasses import replace
from pathlib import Path

from betcode.config.settings import EngineSettings
from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import InvalidRequest
from betcode.domain.sessions.budget import Budget
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import MessageId, NotAnIdentifier, parse_uuid
from betcode.engine.shell.attachments import checked

NAME_CHARACTERS = 200
_COST_LIMIT_USD = 1_000_000_000
_SMALLEST_COST_USD = 0.0001  # what is less cannot be shown, nor be told from rounding
_AMOUNT_LIMIT = 2**53  # what every client can tell from the number beside it
_WORD_LIMIT = 2_000  # characters
_ARGUMENT_LIMIT_BYTES = 100_000  # Linux takes 128 KiB for one argument or variable
_OTHER_TO_EVERYONE = ("/proc/self", "/proc/thread-self", "/dev/fd", "/dev/stdin")


def check_new_session(new: NewSession) -> None:
    """Raises InvalidRequest, with what to do, where a session like this cannot work."""
    check_budget(new.budget)
    _check_directory(new.working_directory)
    _check_words("model", (new.model,) if new.model else ())
    _check_words("tool", new.allowed_tools)
    for tool in new.allowed_tools:
        if not tool.strip():
            raise InvalidRequest("An entry of the allowed tools is empty: remove it")
    if sum(len(tool.encode()) + 1 for tool in new.allowed_tools) > _ARGUMENT_LIMIT_BYTES:
        raise InvalidRequest(f"The allowed tools are longer than {_ARGUMENT_LIMIT_BYTES} bytes in total: allow fewer")
    for name, value in (new.environment or {}).items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise InvalidRequest("The environment has an invalid variable name: remove it")
        if len(name.encode()) + len(value.encode()) > _ARGUMENT_LIMIT_BYTES:
            raise InvalidRequest(
                f"The variable {name[:80]!r} is longer than {_ARGUMENT_LIMIT_BYTES} bytes, the system limit: remove it"
            )


def check_budget(budget: Budget) -> None:
    """Raises InvalidRequest where a limit is no amount."""
    limits = budget.limits
    if not math.isfinite(limits.cost_usd) or not 0 <= limits.cost_usd <= _COST_LIMIT_USD:
        raise InvalidRequest(f"A limit on cost is an amount from 0 to {_COST_LIMIT_USD:,} dollars; 0 is no limit")
    if 0 < limits.cost_usd < _SMALLEST_COST_USD:
        raise InvalidRequest(f"A limit on cost is at least {_SMALLEST_COST_USD} dollars; 0 is no limit")
    for amount in (limits.tokens, limits.turns, limits.duration_ms):
        if not 0 <= amount <= _AMOUNT_LIMIT:
            raise InvalidRequest(f"A limit is at most {_AMOUNT_LIMIT}: 0 is no limit")


def check_name(name: str) -> None:
    """Raises InvalidRequest where people could not read a session's name in one line."""
    if len(name) > NAME_CHARACTERS:
        raise InvalidRequest(f"The name has {len(name)} characters: give it at most {NAME_CHARACTERS}")
    if name != name.strip() or not name.isprintable():
        raise InvalidRequest("The name has spaces around it or characters that cannot be shown: remove them")


def check_message(message: SendMessage, settings: EngineSettings) -> SendMessage:
    """The message with its id in the usual spelling and its files as what they are.

    Raises:
        InvalidRequest: it is empty, too large, carries no proper id or a file that cannot be taken.
    """
    if not message.content.strip() and not message.attachments:
        raise InvalidRequest("The message is empty: write something or attach a file")
    try:
        message_id = MessageId(parse_uuid(message.message_id))
    except NotAnIdentifier:
        raise InvalidRequest(f"The message id {message.message_id[:80]!r} is not a UUID: make one") from None
    if len(message.content.encode("utf-8", "surrogatepass")) > settings.message_limit_bytes:
        raise InvalidRequest(
            f"The message is longer than {settings.message_limit_bytes} bytes: attach a file or send less",
            limit_bytes=str(settings.message_limit_bytes),
        )
    return replace(message, message_id=message_id, attachments=checked(message.attachments, settings))


def _check_directory(text: str) -> None:
    if not text:
        raise InvalidRequest("No working directory: name the project's directory")
    if "\0" in text:
        raise InvalidRequest("The path of the working directory contains a NUL byte: give another path")
    path = Path(text)
    shown = text[:500]
    if not path.is_absolute():
        raise InvalidRequest(f"The working directory {shown!r} is not absolute: give the absolute path")
    if any(path.is_relative_to(name) for name in _OTHER_TO_EVERYONE):
        raise InvalidRequest(f"{shown!r} resolves differently in each process: give the real path")
    try:
        exists, is_directory = path.exists(), path.is_dir()
    except OSError as trouble:
        raise InvalidRequest(f"The working directory {shown!r} cannot be accessed: {trouble.strerror}") from None
    if not exists:
        raise InvalidRequest(f"The working directory {shown!r} does not exist: make it or name another")
    if not is_directory:
        raise InvalidRequest(f"{shown!r} is not a directory: name the directory that the agent should work in")
    if not os.access(path, os.R_OK | os.X_OK):
        raise InvalidRequest(f"The working directory {shown!r} cannot be read: change its permissions or name another")


def _check_words(what: str, words: tuple[str, ...]) -> None:
    for word in words:
        if word.startswith("-"):
            raise InvalidRequest(f"The {what} name {word[:80]!r} begins with a dash: remove the dash")
        if not word.isprintable():
            raise InvalidRequest(f"The {what} name {word[:80]!r} has a control character: remove it")
        if len(word) > _WORD_LIMIT:
            raise InvalidRequest(f"The {what} name {word[:80]!r}… is longer than {_WORD_LIMIT} characters")
