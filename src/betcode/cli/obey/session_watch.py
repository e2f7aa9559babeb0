"""`obey session watch`: print the activities of one or all sessions as they happen."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime

import anyio
from google.protobuf.timestamp_pb2 import Timestamp

from betcode.cli.obey.connect import connected, find_session
from betcode.cli.obey.failure import ObeyExit
from betcode.cli.obey.names import STATUSES, name_of
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.records import activity_json, change_json, versioned
from betcode.cli.obey.session_lines import activity_lines, change_line
from betcode.cli.terminal.console import Screen, standard_screen
from obey.local.v1 import local_pb2 as v1

_OVER = ("SESSION_STOPPED", "SESSION_FAILED")
_LAST_ACTIVITIES_S = 1.0  # wait for activities that are in transit when the session ends


async def watch(options: ObeyCommandOptions) -> int:
    """Watch until the session ends or until Ctrl-C; watching all sessions ends only by Ctrl-C."""
    screen = standard_screen(colour=options.colour)
    async with connected(options, screen) as client:
        session = await find_session(client, options) if options.has("session") else v1.SessionInfo()
        campaign = "" if session.id else options.text("campaign")
        watcher = SessionWatcher(screen, session.id, as_json=options.as_json)
        async with (
            aclosing(await client.activities(session.id, campaign)) as activities,
            aclosing(await client.statuses(session.id, campaign)) as changes,
            anyio.create_task_group() as tasks,
        ):
            if session.id:
                watcher.begin(await client.get(session.id))
            else:
                screen.note("Watching all sessions" if not campaign else f"Watching the sessions of {campaign}")
            tasks.start_soon(_print_activities, activities, watcher)
            async for change in changes:
                watcher.change(change)
            if watcher.saw_an_end:
                with anyio.move_on_after(_LAST_ACTIVITIES_S):
                    await watcher.finished.wait()
            tasks.cancel_scope.cancel()
    return ObeyExit.OK


async def _print_activities(activities: AsyncIterator[v1.SessionActivityEvent], watcher: "SessionWatcher") -> None:
    async for one in activities:
        watcher.activity(one)


class SessionWatcher:
    """Prints one line per event; replies of agents are printed whole."""

    def __init__(self, screen: Screen, session_id: str, *, as_json: bool) -> None:
        self.saw_an_end = False
        self.finished = anyio.Event()  # set after the last activity of a finished session
        self._screen = screen
        self._session_id = session_id
        self._as_json = as_json

    def begin(self, session: v1.SessionInfo) -> None:
        """Print the state of the session first; with --json, `session info` prints it."""
        if not self._as_json:
            self._screen.line(f"{session.id} is {name_of(session.status, STATUSES)}")

    def change(self, one: v1.SessionStatusEvent) -> None:
        self.saw_an_end = one.new_status in (v1.SESSION_STATUS_STOPPED, v1.SESSION_STATUS_FAILED)
        if self._as_json:
            self._screen.json(versioned("session.status", change_json(one)))
        else:
            self._line(one.session_id, one.timestamp, change_line(one))

    def activity(self, one: v1.SessionActivityEvent) -> None:
        if one.type == v1.ACTIVITY_TYPE_STATUS and one.content.startswith(_OVER):
            self.finished.set()
        if self._as_json:
            self._screen.json(versioned("session.activity", activity_json(one)))
            return
        for line in activity_lines(one):
            self._line(one.session_id, one.timestamp, line)

    def _line(self, session_id: str, at: Timestamp, text: str) -> None:
        """Print a line, with the session's id if all sessions are watched."""
        when = datetime.fromtimestamp(at.seconds).astimezone().strftime("%H:%M:%S")
        who = "" if self._session_id else f"{session_id}  "
        self._screen.line(f"{when}  {who}{text}")
