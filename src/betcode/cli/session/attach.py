"""`betcode attach` and `betcode` without a command: open a session on the screen or in plain lines."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.policy.project_trust import resolve_trust, trust_for_screen
from betcode.cli.session.launch_tui import launch_tui, wants_screen
from betcode.cli.session.lookup import OPEN, find_session, find_summary
from betcode.cli.session.new_session import default_agent
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.worktree.start_directory import (
    active_elsewhere,
    named_worktree,
    note_missing_worktree,
    started_session,
)
from betcode.client import Client
from betcode.domain.agents.provider_config import PREFIX
from betcode.providers.specs import FALLBACK
from betcode.v1.agent_pb2 import SessionSummary
from betcode.v1.worktree_pb2 import WORKTREE_STATE_READY, WorktreeInfo
from betcode.wording.times import age

_SEARCHED = 50  # maximum number of sessions of a directory to search


async def attach(options: CommandOptions) -> int:
    """Attach to the given session, or to the session of a worktree."""
    if options.has("session") == options.has("worktree"):
        raise CommandFailed("Give either a session ID or --worktree", ExitCode.INVALID_ARGUMENTS)
    if wants_screen(options):

        async def choose(client: Client, _notes: Screen) -> SessionSummary:
            session_id = await _named_session(client, options)
            await trust_for_screen(client, options, session_id)
            return await find_summary(client, session_id)

        return await launch_tui(options, choose)
    screen = standard_screen()
    async with connected(options, screen) as client:
        session_id = await _named_session(client, options)
        await resolve_trust(client, options, screen, session_id)
        return await converse(options, client, screen, session_id, show_all=options.flag("all"))


async def _named_session(client: Client, options: CommandOptions) -> str:
    if options.has("worktree"):
        return await _session_of_worktree(client, options)
    return await find_session(client, options.text("session"))


async def _session_of_worktree(client: Client, options: CommandOptions) -> str:
    """Return the newest open session of the worktree.

    Raises:
        CommandFailed: it has none; `betcode --worktree` creates one.
    """
    place = await named_worktree(client, options)
    page = await client.list_sessions(worktree_id=place.id, statuses=OPEN, limit=1)
    if not page.sessions:
        begin = f"betcode --worktree {shlex.quote(place.name)}"
        raise CommandFailed(f"{place.name} has no open session. Start one with: {begin}", ExitCode.SESSION_NOT_FOUND)
    return page.sessions[0].id


async def open_here(options: CommandOptions) -> int:
    """Open the newest session of the current directory or a new one; the demo's only if there is no other agent."""
    if wants_screen(options):

        async def choose(client: Client, notes: Screen) -> SessionSummary | None:
            chosen = await _chosen_here(client, options, notes)
            if chosen is not None:
                await trust_for_screen(client, options, chosen.id)
            return chosen

        return await launch_tui(options, choose)
    screen = standard_screen()
    async with connected(options, screen) as client:
        here = await _sessions_here(client, options, screen)
        if here.sessions:
            session_id = here.sessions[0].id
            here.print_choice(screen)
        else:
            session_id = await started_session(client, options, screen)
        await resolve_trust(client, options, screen, session_id, is_new=not here.sessions)
        return await converse(options, client, screen, session_id, show_all=False)


async def _chosen_here(client: Client, options: CommandOptions, notes: Screen) -> SessionSummary | None:
    """Return the newest session; None if several work or wait for a person, who then has to choose."""
    here = await _sessions_here(client, options, notes)
    if not here.sessions:
        return await find_summary(client, await started_session(client, options, notes))
    if sum(one.status == "active" or one.pending_prompts > 0 for one in here.sessions) > 1:
        return None
    here.print_choice(notes)
    return here.sessions[0]


@dataclass(frozen=True, slots=True)
class _DirectorySessions:
    """The open sessions of a directory or worktree, newest first."""

    sessions: Sequence[SessionSummary]
    place: WorktreeInfo | None  # the worktree of the sessions
    is_named: bool  # the person named the worktree
    gone: WorktreeInfo | None  # the active worktree, if it is missing

    def print_choice(self, screen: Screen) -> None:
        """Print which session is continued, and why."""
        newest = self.sessions[0]
        if self.gone is not None:
            note_missing_worktree(screen, self.gone)
        if self.place is not None and not self.is_named:
            screen.note(f"In worktree {self.place.name} (active): {newest.working_directory}")
        if newest.message_count:
            ago = age(datetime.now(UTC) - newest.updated_at.ToDatetime(UTC))
            owner = "this directory" if self.place is None else f"worktree {self.place.name}"
            screen.note(f"Continuing the session of {owner}, last used {ago}; {screen.start_hint}")


async def _sessions_here(client: Client, options: CommandOptions, screen: Screen) -> _DirectorySessions:
    is_named = options.has("worktree")
    place = await (named_worktree(client, options) if is_named else active_elsewhere(client, options))
    gone = None
    if place is not None and not is_named and place.state != WORKTREE_STATE_READY:
        gone, place = place, None
    page = await client.list_sessions(
        working_directory="" if place is not None else working_directory(options),
        worktree_id=place.id if place is not None else "",
        statuses=OPEN,
        limit=_SEARCHED,
    )
    found = [one for one in page.sessions if _is_of_kind(one, options)]
    is_demo = bool(found) and found[0].provider == FALLBACK.name and not options.has("provider")
    if is_demo and (agent := await default_agent(client, options)) != FALLBACK.name:
        demo, found = found[0], [one for one in found if one.provider != FALLBACK.name]
        if not found:
            demo_note = f"the {FALLBACK.name} session remains: betcode attach {demo.id}"
            screen.note(f"A new session with {agent}; {demo_note}")
    return _DirectorySessions(found, place, is_named, gone)


def _is_of_kind(session: SessionSummary, options: CommandOptions) -> bool:
    """Whether the session has the requested provider and options; any session matches if none are requested."""
    if options.has("provider") and session.provider != options.text("provider"):
        return False
    return all(session.metadata.get(PREFIX + key, "") == value for key, value in options.pairs("config"))


async def converse(options: CommandOptions, client: Client, screen: Screen, session_id: str, *, show_all: bool) -> int:
    """Run a conversation in plain lines until the person leaves."""
    from betcode.cli.session.plain_conversation import PlainConversation  # imported here: the screen does not need it

    next_session: str | None = session_id
    code = ExitCode.OK
    while next_session is not None:
        summary = await find_summary(client, next_session)
        screen.note(f"Session {summary.id} · {summary.provider} · {summary.working_directory}")
        if summary.status != "closed":
            screen.note("Type a message. /cancel stops a turn, /quit exits, /help lists all commands")
        elif not os.isatty(0):  # input on stdin would not be sent to anyone
            raise CommandFailed(
                f"The session is closed and accepts no messages; read it with: betcode session show {summary.id}",
                ExitCode.INVALID_ARGUMENTS,
            )
        is_terminal = os.isatty(0)
        talk = PlainConversation(
            client, summary, screen, is_terminal=is_terminal, show_all=show_all, as_json=options.as_json
        )
        code = await talk.run()
        next_session = await started_session(client, options, screen) if talk.wants_another else None
    return code
