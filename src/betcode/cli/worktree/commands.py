"""`betcode worktree list` and `switch`: list worktrees and choose the active one."""

from collections.abc import Sequence

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.new_session import new_conversation
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import table
from betcode.cli.worktree.lookup import find_worktree
from betcode.cli.worktree.rendering import branch_words, info_json, state_words
from betcode.client import Client, SessionKind
from betcode.v1 import worktree_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.terminal_text import in_a_line, one_line

_HEADINGS = ("", "NAME", "BRANCH", "STATE", "SESSIONS", "PATH")
_SPARE = ("SESSIONS", "BRANCH", "STATE")
_TROUBLE_WIDTH = 500
_FAILED = (v1.WORKTREE_SETUP_FAILED, v1.WORKTREE_SETUP_TIMED_OUT)


async def list_worktrees(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Reading the worktrees") as client:
        found = await client.worktrees.list("" if options.flag("all") else working_directory(options))
    if options.as_json:
        screen.json({"worktrees": [info_json(one) for one in found]}, indent=2)
        return ExitCode.OK
    if not found:
        screen.line("No worktrees yet. Create one with: betcode worktree create BRANCH")
        return ExitCode.OK
    for line in table(_HEADINGS, [_row(one) for one in found], screen.width, path="PATH", spare=_SPARE):
        screen.line(line)
    _print_problems(screen, found)
    return ExitCode.OK


def _row(one: v1.WorktreeInfo) -> tuple[str, ...]:
    sessions = str(one.session_count) if one.session_count else ""
    return ("*" if one.is_active else "", one.name, branch_words(one), state_words(one), sessions, one.path)


def _print_problems(screen: Screen, found: Sequence[v1.WorktreeInfo]) -> None:
    """Print problems that need a person; a skipped setup is not one."""
    for one in found:
        if one.trouble and one.setup != v1.WORKTREE_SETUP_SKIPPED:
            again = f"; retry with: betcode worktree setup {one.name}" if one.setup in _FAILED else ""
            screen.note(one_line(f"{one.name}: {one.trouble}", _TROUBLE_WIDTH) + again)


async def switch(options: CommandOptions) -> int:
    """Print the path on stdout, and its session on stderr."""
    screen = standard_screen()
    async with connected(options, screen, doing="Switching") as client:
        worktree = await find_worktree(client, options, options.text("name"))
        answer = await switched(client, options, worktree.id)
    print_session(screen, answer)
    if options.as_json:
        screen.json({"worktree": info_json(answer.worktree)} | switched_json(answer), indent=2)
    else:
        screen.line(answer.worktree.path)
    return ExitCode.OK


async def switched(client: Client, options: CommandOptions, worktree_id: str) -> v1.SwitchWorktreeResponse:
    """Make the worktree active; a session created for it has the usual parameters."""
    new = new_conversation(options)
    return await client.worktrees.switch(worktree_id, SessionKind(new.provider, new.model, new.environment))


def print_session(screen: Screen, answer: v1.SwitchWorktreeResponse) -> None:
    kind = "A new session" if answer.session_created else "Its session"
    how = f"{kind}: betcode attach {short_id(answer.session_id)}"
    screen.note(f"{in_a_line(answer.worktree.name)} is the active worktree. {how}")


def switched_json(answer: v1.SwitchWorktreeResponse) -> dict[str, object]:
    return {
        "previous_worktree_id": answer.previous_worktree_id,
        "session_id": answer.session_id,
        "session_created": answer.session_created,
    }
