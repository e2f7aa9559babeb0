"""`betcode run`: one turn without a conversation around it."""

import sys
from collections.abc import Sequence

import anyio

from betcode.cli.budgets import budget_from
from betcode.cli.daemon_control import ensure_daemon
from betcode.cli.exit_codes import CommandFailed, ExitCode
from betcode.cli.finding import find_session
from betcode.cli.greeting import greeted_client
from betcode.cli.headless import HeadlessTurn, Output
from betcode.cli.identity import own_identity
from betcode.cli.keyboard import can_ask
from betcode.cli.on_ask import AskPolicy, OnAsk
from betcode.cli.options import Options
from betcode.cli.screen import standard_screen
from betcode.cli.worktree_place import started_session
from betcode.domain.commands import AttachedFile
from betcode.wording.attaching import CannotAttach, read_files

_OF_A_NEW_SESSION = ("provider", "model", "cwd", "worktree")


def run(options: Options) -> int:
    """Say the prompt, print the answer, and end with what became of it."""
    prompt = _prompt(options)
    if options.text("session") and (
        any(map(options.text, _OF_A_NEW_SESSION))
        or options.texts("allowed_tools")
        or options.flag("plan")
        or budget_from(options) is not None
    ):
        raise CommandFailed(
            "--session goes on with a session as it is: --provider, --model, --cwd, --worktree, --allowed-tools, "
            "--plan and limits are for a new one (betcode session budget changes those of another)",
            ExitCode.INVALID_ARGUMENTS,
        )
    try:
        files = read_files(options.texts("attach"))
    except CannotAttach as failed:
        raise CommandFailed(failed.message, ExitCode.INVALID_ARGUMENTS) from failed
    return anyio.run(_run, options, prompt, files)


async def _run(options: Options, prompt: str, files: Sequence[AttachedFile]) -> int:
    screen = standard_screen()
    asks = can_ask()
    await ensure_daemon(options, screen.note, announce=asks)
    output = Output.JSON if options.as_json and options.text("output") == "text" else Output(options.text("output"))
    policy: AskPolicy = options.chosen.on_ask or AskPolicy(OnAsk.ASK if asks else OnAsk.DENY)
    # What it leaves open others have to answer: they are to be told of it as if nobody were here.
    client_type = "headless" if policy.on_ask in (OnAsk.PARK, OnAsk.WAIT) else "cli"
    async with greeted_client(options.places, own_identity(options, client_type), screen, shows_agent=False) as client:
        given = options.text("session")
        is_new = not given
        session_id = await (started_session(client, options, screen) if is_new else find_session(client, given))
        turn = HeadlessTurn(client, session_id, screen, output=output, policy=policy, is_new=is_new)
        return await turn.run(prompt, files)


def _prompt(options: Options) -> str:
    given: str | None = options.chosen.prompt
    text = _from_stdin() if given is None or given == "-" else given
    if not text.strip():
        raise CommandFailed('The prompt is empty. Say what to do: betcode run "PROMPT"', ExitCode.INVALID_ARGUMENTS)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CommandFailed("The prompt is not valid UTF-8", ExitCode.INVALID_ARGUMENTS) from error
    return text


def _from_stdin() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise CommandFailed('Say what to do: betcode run "PROMPT"', ExitCode.INVALID_ARGUMENTS)
    try:
        return sys.stdin.buffer.read().decode().rstrip("\r\n")  # the end of a file's last line is nobody's word
    except UnicodeDecodeError as error:
        raise CommandFailed("The prompt on stdin is not valid UTF-8", ExitCode.INVALID_ARGUMENTS) from error
