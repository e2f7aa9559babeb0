"""Create a session. A repeated request with the same client-made id returns the same session."""

import logging
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from pathlib import Path

from betcode.config.load import FILE_NAME, WrongSetting
from betcode.config.projects import in_project
from betcode.config.settings import EngineSettings
from betcode.domain.agents.capability_table import capability_message
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import InvalidRequest, StorageFailed
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.phase import Phase, Transition
from betcode.domain.store.rows import NewSession, SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq, SessionId
from betcode.engine.agents.provider_status import refuse_unknown
from betcode.engine.context import EngineContext
from betcode.engine.core import events
from betcode.engine.core.capability_checks import check_new, unmeasured_limits_notice
from betcode.engine.core.counters import KIND_OF
from betcode.engine.operations.lifecycle.lifecycle import WORDS
from betcode.engine.validation import check_name, check_new_session
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)


async def create(
    context: EngineContext,
    asked: NewSession,
    *,
    in_active_worktree: bool = False,
    name: str = "",
    binding: SessionBinding | None = None,
) -> SessionId:
    """A session with its first event, its name for people and what it is bound to; nothing is started.

    Raises:
        InvalidRequest, WorktreeNotFound, WorktreeUnusable: it could not work, or another session has the id; nothing
            was made.
    """
    asked = new = replace(asked, asked_place=_place_asked_for(asked, in_active_worktree=in_active_worktree))
    refuse_unknown(context.providers, new.provider)
    if await _was_made(context, new):
        return new.session_id
    context.database.refuse_when_full()
    if context.places is not None:
        new = await context.places.placed(asked, in_active=in_active_worktree)
    new = await _checked(context, new)
    provider = context.providers[new.provider]
    provider.check_session(new)
    can = provider.capabilities_for(new)
    check_new(new, can)
    note = unmeasured_limits_notice(new.budget, new.provider, can)
    newest = Seq(2 if note else 1)
    check_name(name)
    state = SessionState(
        last_seq=newest, epoch=context.store.epoch, name=name, updated_ns=new.created_ns, budget=new.budget
    )
    first = events.session_info(new, state, is_resumed=False)
    first.session_info.capabilities.CopyFrom(capability_message(can))
    said = [first, events.notice(v1.NOTICE_KIND_BUDGET, note)] if note else [first]
    try:
        await context.store.create_session(
            new, state, [_stored(event, at) for at, event in enumerate(said, 1)], binding
        )
    except StorageFailed:
        if not await _was_made(context, asked):  # by the same request, which was under way still
            raise
    else:
        context.phases.tell(Transition(new.session_id, None, Phase.CREATED, WORDS[Phase.CREATED], new.created_ns))
    facts = {"session_id": new.session_id, "provider": new.provider, "working_directory": new.working_directory}
    logger.info("a session was created", extra=facts)
    return new.session_id


def _stored(event: v1.AgentEvent, at: int) -> StoredEvent:
    events.stamp(event, now_ns()).sequence = at
    return StoredEvent(Seq(at), KIND_OF[event.WhichOneof("event") or ""], event.SerializeToString())


async def _checked(context: EngineContext, new: NewSession) -> NewSession:
    """The session as it can work. Its directory is looked at off the event loop: the disk of it may hang."""
    paths = context.rules.paths
    user_file = None if paths is None else paths.config_dir / FILE_NAME
    # To another kind of agent than the default one the name of its model would mean nothing.
    is_default = await context.default_provider(new.environment or {}) in ("", new.provider)
    work = partial(_with_model if is_default else _as_it_is, new, context.settings, context.fixed, user_file)
    try:
        return await context.file_io.run(new.working_directory, work)
    except FilesystemTimeout as no_answer:
        raise InvalidRequest(f"The session cannot be created in {new.working_directory}: {no_answer}") from None


def _as_it_is(new: NewSession, *_: object) -> NewSession:
    check_new_session(new)
    return new


def _with_model(
    new: NewSession, settings: EngineSettings, fixed: AbstractSet[str], user_file: Path | None
) -> NewSession:
    """One that names no model gets the one that the settings say for its directory."""
    check_new_session(new)
    if new.model:
        return new
    try:
        there = in_project(settings, new.working_directory, fixed, user_file)
    except WrongSetting as wrong:
        raise InvalidRequest(str(wrong)) from None
    new = replace(new, model=there.default_model)
    check_new_session(new)
    return new


def _place_asked_for(new: NewSession, *, in_active_worktree: bool) -> str:
    """So that the same request is known again, wherever its session was put."""
    if new.worktree_id:
        return f"worktree {new.worktree_id} {new.working_directory}"
    return f"active {new.working_directory}" if in_active_worktree else ""


async def _was_made(context: EngineContext, new: NewSession) -> bool:
    """Whether this very session is there.

    Raises:
        InvalidRequest: there is another of that id.
    """
    row = await context.store.find_session(new.session_id)
    if row is None:
        return False
    # When it was made is not asked for, what it may spend may have been changed since, a model that nobody named
    # came from the settings, and the worktree from the place.
    same = replace(row.new, created_ns=new.created_ns, budget=new.budget, model=row.new.model if new.model else "")
    same = replace(same, worktree_id=new.worktree_id, subdirectory=new.subdirectory)
    if new.asked_place:
        same = replace(same, working_directory=new.working_directory)
    if same != new:
        raise InvalidRequest("Another session has this id: make a new one", session_id=new.session_id)
    return True
