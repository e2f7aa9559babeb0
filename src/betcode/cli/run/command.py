"""`betcode run`: one turn without an interactive session."""

import math
import time
from collections.abc import Sequence

import anyio

from betcode.cli.core.connect import checked_client
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.identity import own_identity
from betcode.cli.core.options import CommandOptions
from betcode.cli.daemon.control import ensure_daemon
from betcode.cli.policy.project_trust import resolve_trust
from betcode.cli.run.headless import HeadlessTurn, OutputFormat
from betcode.cli.run.on_ask import AskPolicy, OnAsk
from betcode.cli.run.prompt_sources import prompt_of
from betcode.cli.run.time_limit import blocking_within, nothing_was_sent
from betcode.cli.session.budget_arguments import budget_from
from betcode.cli.session.latest import session_to_continue
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.worktree.start_directory import started_session
from betcode.domain.agents.commands import AttachedFile
from betcode.wording.attachments import CannotAttach, read_files

_OF_A_NEW_SESSION = ("provider", "model", "config")
_DIRECTORY_OPTIONS = ("cwd", "worktree")


def run(options: CommandOptions) -> int:
    """Send the prompt, print the answer, and exit with the result of the turn."""
    _refuse_contradictions(options)
    began = time.monotonic()
    limit_s: float = options.chosen.timeout or math.inf
    with blocking_within(limit_s):
        prompt = prompt_of(options, standard_screen().note)
        try:
            files = read_files(options.texts("attach"))
        except CannotAttach as failed:
            raise CommandFailed(failed.message, ExitCode.INVALID_ARGUMENTS) from failed
    return anyio.run(_run, options, prompt, files, limit_s, time.monotonic() - began)


def _refuse_contradictions(options: CommandOptions) -> None:
    """Raises CommandFailed if the options name two sessions, or change an existing one."""
    goes_on = options.has("session") or options.flag("continue")
    if options.has("session") and options.flag("continue"):
        raise CommandFailed("Give either --session ID or --continue", ExitCode.INVALID_ARGUMENTS)
    if options.has("session") and any(map(options.has, _DIRECTORY_OPTIONS)):
        raise CommandFailed(
            "--session runs in the session's directory: --cwd and --worktree require --continue or a new session",
            ExitCode.INVALID_ARGUMENTS,
        )
    if goes_on and (
        any(map(options.has, _OF_A_NEW_SESSION))
        or options.texts("allowed_tools")
        or options.flag("plan")
        or budget_from(options) is not None
    ):
        raise CommandFailed(
            "--session and --continue use an existing session: --provider, --config, --model, --allowed-tools, "
            "--plan and limits require a new one (change the limits of a session with: betcode session budget)",
            ExitCode.INVALID_ARGUMENTS,
        )


async def _run(
    options: CommandOptions, prompt: str, files: Sequence[AttachedFile], limit_s: float, spent_s: float
) -> int:
    ends = anyio.current_time() + limit_s - spent_s
    with anyio.CancelScope(deadline=ends) as before:  # limits the time before the turn; the turn has its own limit
        return await _send_prompt(options, prompt, files, before)
    raise nothing_was_sent(limit_s)


async def _send_prompt(
    options: CommandOptions, prompt: str, files: Sequence[AttachedFile], before: anyio.CancelScope
) -> int:
    screen = standard_screen()
    asks = can_ask()
    await ensure_daemon(options, screen.note, announce=asks)
    output = (
        OutputFormat.JSON
        if options.as_json and options.text("output") == "text"
        else OutputFormat(options.text("output"))
    )
    policy: AskPolicy = options.chosen.on_ask or AskPolicy(OnAsk.ASK if asks else OnAsk.DENY)
    # Others have to answer the prompts that this run leaves open: notify them as if no client were attached.
    client_type = "headless" if policy.on_ask in (OnAsk.PARK, OnAsk.WAIT) else "cli"
    async with checked_client(options.paths, own_identity(options, client_type), screen, shows_agent=False) as client:
        is_new = False
        if options.has("session"):
            session_id = await find_session(client, options.text("session"))
        elif options.flag("continue"):
            session_id = await session_to_continue(client, options)
        else:
            session_id, is_new = await started_session(client, options, screen), True
        ignored = await resolve_trust(client, options, screen, session_id, is_new=is_new)
        left_s, before.deadline = before.deadline - anyio.current_time(), math.inf
        turn = HeadlessTurn(
            client,
            session_id,
            screen,
            output=output,
            policy=policy,
            is_new=is_new,
            limit_s=max(left_s, 0),
            ignored_files=ignored,
        )
        return await turn.run(prompt, files)
