"""What `make run` does: the daemon, and a conversation on a terminal or one turn without one."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import anyio

from betcode.cli.attach_command import open_here
from betcode.cli.daemon_control import ensure_daemon
from betcode.cli.dispatch import guarded
from betcode.cli.exit_codes import ExitCode
from betcode.cli.greeting import greeted_client
from betcode.cli.headless import HeadlessTurn, Output
from betcode.cli.identity import own_identity
from betcode.cli.keyboard import can_ask
from betcode.cli.new_session import default_agent, new_conversation
from betcode.cli.on_ask import AskPolicy, OnAsk
from betcode.cli.options import Options, options_from
from betcode.cli.parser import build_parser
from betcode.cli.screen import Screen, standard_screen
from betcode.client import Client, NewConversation, open_client

_PROMPT = "Hello! In a few sentences: what is betcode?"


def main() -> NoReturn:
    """Run and exit."""
    options = options_from(build_parser().parse_args(sys.argv[1:]), os.environ)
    sys.exit(guarded(lambda: anyio.run(_first_run, options) if not can_ask() else _conversation(options)))


def _conversation(options: Options) -> int:
    screen = standard_screen()
    anyio.run(_say_which_agent, options, screen)
    command = _command()
    if command != "betcode":
        screen.note(f"The command is not installed: where it says betcode, type {command}")
    return open_here(options)


async def _say_which_agent(options: Options, screen: Screen) -> str:
    """Which agent a new session gets, and why; the agent's name."""
    await ensure_daemon(options, screen.note, announce=True, asked_for=True)
    async with open_client(options.places) as client:
        chosen = await default_agent(client, options)
    if chosen == "claude":
        where = options.claude_bin or shutil.which("claude") or "where the daemon was started"
        screen.note(f"Agent: claude, found at {where}")
    elif chosen == "demo":
        screen.note("Agent: the built-in demo, since no claude was found on PATH; it needs no account")
    else:
        screen.note(f"Agent: {chosen}, as the settings say")
    return chosen


async def _first_run(options: Options) -> int:
    screen = standard_screen()
    agent = await _say_which_agent(options, screen)
    new = new_conversation(options)
    async with greeted_client(options.places, own_identity(options), screen) as client:
        code = await _one_turn(client, new, screen, is_demo=agent == "demo")
        if code != ExitCode.OK and agent != "demo":
            screen.note(f"{agent} could not answer; this is the built-in demo agent instead")
            code = await _one_turn(client, replace(new, provider="demo", model=""), screen, is_demo=True)
    command = _command()
    screen.note(f"The daemon goes on. Next: {command} session list, {command} run PROMPT, {command} daemon stop")
    return code


async def _one_turn(client: Client, new: NewConversation, screen: Screen, *, is_demo: bool) -> int:
    screen.note(f"> {_PROMPT}")
    session_id = await client.start_session(new)
    policy = AskPolicy(OnAsk.ALLOW if is_demo else OnAsk.DENY)
    return await HeadlessTurn(client, session_id, screen, output=Output.TEXT, policy=policy, is_new=True).run(_PROMPT)


def _command() -> str:
    """How the command is called from here."""
    beside = Path(sys.executable).with_name("betcode")
    if shutil.which("betcode") or not beside.exists():
        return "betcode"
    return str(beside.relative_to(Path.cwd())) if beside.is_relative_to(Path.cwd()) else str(beside)


if __name__ == "__main__":
    main()
