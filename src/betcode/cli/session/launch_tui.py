"""Open a session on the screen, and print how to reattach afterwards."""

import codecs
import gc
import os
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable
from io import StringIO
from pathlib import Path

from betcode.cli.core.connect import checked_client
from betcode.cli.core.directory import working_directory
from betcode.cli.core.identity import own_identity
from betcode.cli.core.options import CommandOptions
from betcode.cli.daemon.control import ensure_daemon
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.worktree.start_directory import started_session
from betcode.client import LADDER_MS, Client
from betcode.v1.agent_pb2 import SessionSummary

_BETCODE = "betcode"
_NEARBY_MS = 2_000  # maximum delay between reconnects to a daemon on this machine: a person is waiting
Choose = Callable[[Client, Screen], Awaitable[SessionSummary | None]]


def wants_screen(options: CommandOptions) -> bool:
    """Whether stdout is a suitable terminal and the person did not ask for plain lines."""
    wants_lines = options.flag("plain") or options.flag("all") or options.as_json
    return not wants_lines and can_ask() and sys.stdout.isatty() and _can_be_painted()


def _can_be_painted() -> bool:
    """Whether the terminal's encoding has more than ASCII: escaped frames and symbols would break the layout."""
    is_unicode = codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")
    return is_unicode and os.environ.get("TERM", "dumb") != "dumb"


class _Notes(Screen):
    """Collects lines for the screen, which is open meanwhile."""

    start_hint = "Ctrl+N starts another"

    def __init__(self) -> None:
        super().__init__(StringIO(), StringIO(), colour=False)
        self._collected: list[str] = []

    def note(self, text: str) -> None:
        self._collected.append(text)

    show = note

    def taken(self) -> list[str]:
        """Return the collected lines, each of them once."""
        collected, self._collected = self._collected, []
        return collected


async def launch_tui(options: CommandOptions, choose: Choose) -> int:
    """Run the screen until the person leaves. Questions before it are asked in plain lines, with a serving daemon.

    Raises:
        CommandFailed: there is no daemon, or no such session.
    """
    lines = standard_screen()
    await ensure_daemon(options, lines.note, announce=True)
    notes = _Notes()
    remote = options.paths.remote
    ladder_ms = LADDER_MS if remote is not None else [step for step in LADDER_MS if step <= _NEARBY_MS]
    async with checked_client(options.paths, own_identity(options, "tui"), notes, ladder_ms=ladder_ms) as client:
        # Imported here: messages before the screen opens do not wait for it.
        gc.disable()
        from betcode.tui import StartOptions, run_screen

        gc.freeze()  # modules are never garbage: do not scan them while a person types
        gc.enable()

        opening = StartOptions(
            choose=lambda client: choose(client, notes),
            start=lambda client: started_session(client, options, notes),
            notes=notes.taken,
            has_mouse=not options.flag("no_mouse"),
            machine=str(remote.address) if remote is not None else socket.gethostname().partition(".")[0],
            here=working_directory(options),
        )
        screen_exit = await run_screen(client, opening, options.paths.state_dir / "screen")
    if screen_exit.session_id:
        lines.note(f"Reattach with: {own_command()} attach {screen_exit.session_id}")
    return screen_exit.code


def own_command() -> str:
    """Return the command that a person types to run this program again."""
    beside = Path(sys.executable).with_name(_BETCODE)
    if shutil.which(_BETCODE) or not beside.exists():
        return _BETCODE
    return str(beside.relative_to(Path.cwd())) if beside.is_relative_to(Path.cwd()) else str(beside)
