"""The program of `make run`: start the daemon and the demo agent, on a terminal or for one turn."""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

import anyio

from betcode.cli.core.connect import checked_client, connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.dispatch import guarded
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.identity import own_identity
from betcode.cli.core.options import CommandOptions, options_from
from betcode.cli.core.parser import build_parser
from betcode.cli.daemon.control import ensure_daemon
from betcode.cli.run.headless import HeadlessTurn, OutputFormat
from betcode.cli.run.on_ask import AskPolicy, OnAsk
from betcode.cli.session.attach import converse
from betcode.cli.session.launch_tui import launch_tui, own_command, wants_screen
from betcode.cli.session.lookup import OPEN, find_summary
from betcode.cli.session.new_session import default_agent, new_conversation
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.worktree.start_directory import started_session
from betcode.client import Client, NewConversation, open_client
from betcode.providers.specs import DEFAULT, FALLBACK
from betcode.v1.agent_pb2 import SessionSummary

_BETCODE = "betcode"
_SEARCHED = 50  # maximum number of sessions of this directory to search
_PROMPT = "Hello! In a few sentences: what is betcode?"


def main() -> NoReturn:
    """Run and exit."""
    chosen = build_parser().parse_args(sys.argv[1:])
    if can_ask():
        chosen.provider = FALLBACK.name  # a newcomer gets the demo, even if agents are installed
    options = options_from(chosen, os.environ)
    sys.exit(guarded(lambda: anyio.run(_lead_in if can_ask() else _first_run, options)))


async def _lead_in(options: CommandOptions) -> int:
    """Open the demo's session of this directory, or a new one."""
    screen = standard_screen()
    await ensure_daemon(options, screen.note, announce=True, asked_for=True)
    for line in _what_to_try():
        screen.note(line)

    async def choose(client: Client, notes: Screen) -> SessionSummary:
        page = await client.list_sessions(working_directory=working_directory(options), statuses=OPEN, limit=_SEARCHED)
        if own_command() != _BETCODE:
            notes.note(f"Instead of betcode, type {own_command()}")
        if found := [one for one in page.sessions if one.provider == FALLBACK.name]:
            return found[0]
        return await find_summary(client, await started_session(client, options, notes))

    if wants_screen(options):
        return await launch_tui(options, choose)
    async with connected(options, screen) as client:
        summary = await choose(client, screen)
        return await converse(options, client, screen, summary.id, show_all=False)


def _what_to_try() -> Iterator[str]:
    yield f"This is the built-in {FALLBACK.name} agent. It needs no account and changes nothing."
    yield "Type tour, and then reconnect."
    if found := shutil.which(DEFAULT.executable):
        yield f"To work with {DEFAULT.name} ({found}), run {own_command()} in a project of yours."
    else:
        yield f"With {DEFAULT.title} ({DEFAULT.executable} on your PATH), {own_command()} in a project uses that agent."


async def _print_agent(options: CommandOptions, screen: Screen) -> str:
    """Print which agent a new session gets, and why; return its name."""
    await ensure_daemon(options, screen.note, announce=True, asked_for=True)
    async with open_client(options.paths) as client:
        chosen = await default_agent(client, options)
    if chosen == DEFAULT.name:
        where = options.claude_bin or shutil.which(DEFAULT.executable) or "where the daemon was started"
        screen.note(f"Agent: {chosen}, found at {where}")
    elif chosen == FALLBACK.name:
        screen.note(
            f"Agent: the built-in {FALLBACK.name}, because {DEFAULT.executable} is not on the PATH; it needs no account"
        )
    else:
        screen.note(f"Agent: {chosen}, from the settings")
    return chosen


async def _first_run(options: CommandOptions) -> int:
    screen = standard_screen()
    agent = await _print_agent(options, screen)
    new = new_conversation(options)
    async with checked_client(options.paths, own_identity(options), screen) as client:
        code = await _one_turn(client, new, screen, is_demo=agent == FALLBACK.name)
        if code != ExitCode.OK and agent != FALLBACK.name:
            screen.note(f"{agent} could not answer; this is the built-in {FALLBACK.name} agent instead")
            code = await _one_turn(client, replace(new, provider=FALLBACK.name, model=""), screen, is_demo=True)
    command = own_command()
    screen.note(f"The daemon keeps running. Next: {command} session list, {command} run PROMPT, {command} daemon stop")
    return code


async def _one_turn(client: Client, new: NewConversation, screen: Screen, *, is_demo: bool) -> int:
    screen.note(f"> {_PROMPT}")
    session_id = await client.start_session(new)
    policy = AskPolicy(OnAsk.ALLOW if is_demo else OnAsk.DENY)
    return await HeadlessTurn(client, session_id, screen, output=OutputFormat.TEXT, policy=policy, is_new=True).run(
        _PROMPT
    )


if __name__ == "__main__":
    main()
