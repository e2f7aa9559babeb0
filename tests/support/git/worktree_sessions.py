"""Sessions in worktrees, as tests make them and talk to them."""

import os
from pathlib import Path

from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId, new_session_id
from support.daemon.session import is_idle
from support.engine.engine import EngineSession


def a_new(directory: Path | str = "", *, worktree: str = "", session: SessionId | None = None) -> NewSession:
    """A session of the demo agent, as a client asks for it."""
    return NewSession(
        session or new_session_id(),
        "demo",
        str(directory),
        worktree_id=worktree,
        environment={"PATH": os.environ["PATH"], "BETCODE_DEMO_FLOOD": "1"},
        created_ns=1,
    )


async def where_it_works(talk: EngineSession) -> str:
    """The directory that the session's agent names as its own when it is spoken to."""
    await talk.say("hello")
    told = [event.session_info for event in await talk.until(is_idle) if event.HasField("session_info")]
    return told[-1].working_directory
