"""`betcode attach` and `betcode` alone: a conversation in plain lines."""

import os
import shlex
from datetime import UTC, datetime

import anyio

from betcode.cli.directory import working_directory
from betcode.cli.exit_codes import CommandFailed, ExitCode
from betcode.cli.finding import find_session, find_summary
from betcode.cli.new_session import default_agent
from betcode.cli.options import Options
from betcode.cli.screen import Screen, standard_screen
from betcode.cli.session_commands import connected
from betcode.cli.talk import Talk
from betcode.cli.worktree_place import active_elsewhere, named_worktree, say_it_is_gone, started_session
from betcode.client import Client
from betcode.v1.worktree_pb2 import WORKTREE_STATE_READY
from betcode.wording.times import age

_DEMO = "demo"
_OPEN = ("new", "active", "idle")
_LOOKED_AT = 50  # how many sessions of a directory are looked through


def attach(options: Options) -> int:
    """Join a session: the one that is named, or that of a worktree."""
    if options.has("session") == options.has("worktree"):
        raise CommandFailed("Name one session: by its ID, or with --worktree", ExitCode.INVALID_ARGUMENTS)
    return anyio.run(_attach, options)


async def _attach(options: Options) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        if options.has("worktree"):
            session_id = await _session_of_worktree(client, options)
        else:
            session_id = await find_session(client, options.text("session"))
        return await _converse(options, client, screen, session_id, show_all=options.flag("all"))


async def _session_of_worktree(client: Client, options: Options) -> str:
    """Its newest open session.

    Raises:
        CommandFailed: it has none; making one is for `betcode --worktree`.
    """
    place = await named_worktree(client, options)
    page = await client.list_sessions(worktree_id=place.id, statuses=_OPEN, limit=1)
    if not page.sessions:
        begin = f"betcode --worktree {shlex.quote(place.name)}"
        raise CommandFailed(f"{place.name} has no open session. Begin one with: {begin}", ExitCode.SESSION_NOT_FOUND)
    return page.sessions[0].id


def open_here(options: Options) -> int:
    """The newest open session of the current directory, or a new one; the demo's only where there is no other agent."""
    return anyio.run(_open_here, options)


async def _open_here(options: Options) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        is_named = options.has("worktree")
        place = await (named_worktree(client, options) if is_named else active_elsewhere(client, options))
        gone = None
        if place is not None and not is_named and place.state != WORKTREE_STATE_READY:
            gone, place = place, None
        page = await client.list_sessions(
            working_directory="" if place is not None else working_directory(options),
            worktree_id=place.id if place is not None else "",
            statuses=_OPEN,
            limit=_LOOKED_AT,
        )
        found = list(page.sessions)
        if found and found[0].provider == _DEMO and (agent := await default_agent(client, options)) != _DEMO:
            found = [one for one in found if one.provider != _DEMO]
            if not found:
                kept = f"the one with the demo stays: betcode attach {page.sessions[0].id}"
                screen.note(f"A new session with {agent}; {kept}")
        if found:
            newest = found[0]
            session_id = newest.id
            if gone is not None:
                say_it_is_gone(screen, gone)
            if place is not None and not is_named:
                screen.note(f"In worktree {place.name} (active): {newest.working_directory}")
            if newest.message_count:
                ago = age(datetime.now(UTC) - newest.updated_at.ToDatetime(UTC))
                whose = "this directory" if place is None else f"worktree {place.name}"
                screen.note(f"Going on with the session of {whose}, last used {ago}; /new begins another")
        else:
            session_id = await started_session(client, options, screen)
        return await _converse(options, client, screen, session_id, show_all=False)


async def _converse(options: Options, client: Client, screen: Screen, session_id: str, *, show_all: bool) -> int:
    wanted: str | None = session_id
    code = ExitCode.OK
    while wanted is not None:
        summary = await find_summary(client, wanted)
        screen.note(f"Session {summary.id} · {summary.provider} · {summary.working_directory}")
        if summary.status != "closed":
            screen.note("Type a message. /cancel stops a turn, /quit leaves, /help tells the rest")
        elif not os.isatty(0):  # what stands on stdin would be said to nobody
            raise CommandFailed(
                f"The session is closed and takes no messages; read it with: betcode session show {summary.id}",
                ExitCode.INVALID_ARGUMENTS,
            )
        is_terminal = os.isatty(0)
        talk = Talk(client, summary, screen, is_terminal=is_terminal, show_all=show_all, as_json=options.as_json)
        code = await talk.run()
        wanted = await started_session(client, options, screen) if talk.wants_another else None
    return code
