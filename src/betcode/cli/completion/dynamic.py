"""Complete ids of sessions and prompts, and models, from a running daemon, within a time limit."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from betcode.config.paths import Paths, choose_paths

if TYPE_CHECKING:
    from betcode.cli.completion.candidates import Candidate
    from betcode.client import Client

_WITHIN_S = 1.0
_MOST = 50
_DESCRIPTION_WIDTH = 60  # maximum length of a description, in columns
_MODELS = ("haiku", "opus", "sonnet")  # names that the claude program accepts
_TYPABLE = re.compile(r"[\w.@-]+")


def dynamic_words(kind: str, typed: Sequence[str], beginning: str) -> "list[Candidate]":
    """Return the candidates of `kind`, newest first; none if no daemon answers quickly."""
    paths = _paths_from(typed)
    fallback = [(name, "") for name in _MODELS] if kind == "model" else []
    if not paths.socket.exists():
        return fallback
    from functools import partial

    import anyio

    from betcode.client import ClientError

    try:
        return anyio.run(partial(_query, kind, paths, typed, beginning)) or fallback
    except (ClientError, OSError):
        return fallback


def _paths_from(typed: Sequence[str]) -> Paths:
    """Return the paths that the typed options select; completion never contacts a daemon on another machine."""

    def named(flag: str) -> Path | None:
        text = _value_of(flag, typed)
        return Path(text) if text is not None else None

    return choose_paths(
        os.environ, state_dir=named("--state-dir"), config_dir=named("--config-dir"), socket=named("--socket")
    )


def _value_of(flag: str, typed: Sequence[str]) -> str | None:
    for at, word in enumerate(typed):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag and at + 1 < len(typed):
            return typed[at + 1]
    return None


async def _query(kind: str, paths: Paths, typed: Sequence[str], beginning: str) -> "list[Candidate]":
    import anyio

    from betcode.client import open_client

    with anyio.move_on_after(_WITHIN_S):
        async with open_client(paths) as client:
            match kind:
                case "session":
                    return await _sessions(client, beginning)
                case "id":
                    return await _prompts(client)
                case "config":
                    return await _keys(client, typed)
                case _:
                    page = await client.list_sessions(limit=_MOST)
                    return [(name, "") for name in sorted({*_MODELS, *(one.model for one in page.sessions)} - {""})]
    return []


async def _sessions(client: "Client", beginning: str) -> "list[Candidate]":
    from datetime import UTC, datetime

    from betcode.wording.ids import short_id
    from betcode.wording.pending import session_state
    from betcode.wording.terminal_text import one_line
    from betcode.wording.times import age

    page = (await client.list_sessions(limit=_MOST)).sessions
    now = datetime.now(UTC)
    shorts = [short_id(one.id) for one in page]
    found: list[Candidate] = []
    for one, short in zip(page, shorts, strict=True):
        ago = age(now - one.updated_at.ToDatetime(UTC))
        says = one_line(f"{session_state(one, now)}, {ago}: {one.name or one.last_message_preview}", _DESCRIPTION_WIDTH)
        is_enough = shorts.count(short) == 1 and len(beginning) <= len(short)
        found.append((short if is_enough else one.id, says))
        if beginning and _TYPABLE.fullmatch(one.name):
            found.append((one.name, says))
    return found


async def _prompts(client: "Client") -> "list[Candidate]":
    from betcode.wording.pending import tool_of, what_of
    from betcode.wording.terminal_text import one_line

    return [
        (one.request_id, one_line(f"{tool_of(one)} {what_of(one)}", _DESCRIPTION_WIDTH))
        for one in await client.pending()
    ]


async def _keys(client: "Client", typed: Sequence[str]) -> "list[Candidate]":
    """Return the configuration keys of the given provider, or of all providers."""
    found = await client.providers(_value_of("--provider", typed) or "", {}, skip_versions=True)
    return sorted({(f"{key}=", says) for one in found for key, says in one.config_keys.items()})
