"""Complete session ids and campaign names from a running daemon, within a time limit."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from betcode.cli.core.arguments import DynamicArgument

if TYPE_CHECKING:
    from betcode.config.paths import Paths
    from obey.local.v1.local_pb2 import StateResponse

_WITHIN_S = 1.0
_DESCRIPTION_WIDTH = 60  # maximum length of a description, in columns

Candidates = list[tuple[str, str]]


class SessionArgument(DynamicArgument):
    """An argument that names a session."""

    def found(self, typed: Sequence[str], beginning: str) -> Candidates:
        """Return unique prefixes of ids; a prefix that is already typed is completed to the whole id."""
        if (state := _query(typed)) is None:
            return []
        from betcode.cli.obey.names import STATUSES, name_of
        from betcode.cli.obey.session_lines import short_ids
        from betcode.wording.terminal_text import one_line

        ids = [one.id for one in state.active_sessions]
        shorts = short_ids(ids)
        return [
            (
                shorts[one.id] if shorts[one.id].startswith(beginning) else one.id,
                one_line(f"{name_of(one.status, STATUSES)}: {one.agent_name}", _DESCRIPTION_WIDTH),
            )
            for one in state.active_sessions
        ]


class CampaignArgument(DynamicArgument):
    """An argument that names a campaign."""

    def found(self, typed: Sequence[str], beginning: str) -> Candidates:
        del beginning
        state = _query(typed)
        return [(one.name or one.id, one.root) for one in state.campaigns] if state is not None else []


def _query(typed: Sequence[str]) -> "StateResponse | None":
    from functools import partial

    from betcode.cli.obey.options import choose_socket
    from betcode.config.paths import choose_paths

    paths = choose_paths(os.environ)
    socket = choose_socket(_named("--socket", typed), os.environ, paths).path
    if not socket.exists():
        return None
    import anyio

    from betcode.client import ClientError

    try:
        return anyio.run(partial(_state, paths, socket))
    except (ClientError, OSError):
        return None


def _named(flag: str, typed: Sequence[str]) -> str:
    for at, word in enumerate(typed):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag and at + 1 < len(typed):
            return typed[at + 1]
    return ""


async def _state(paths: "Paths", socket: Path) -> "StateResponse | None":
    import anyio

    from betcode.client import ClientIdentity
    from betcode.client.obey import open_obey

    with anyio.move_on_after(_WITHIN_S):
        async with open_obey(paths, socket, ClientIdentity()) as client:
            return await client.state()
    return None
