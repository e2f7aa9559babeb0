"""The demo agent's program: its flags, and the loop over messages."""

import argparse
import os
import signal
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from betcode.agents.demo import frames, repertoire
from betcode.agents.demo.cassette import load_cassette
from betcode.agents.demo.flood import Flood
from betcode.agents.demo.inbox import BadLine, Inbox
from betcode.agents.demo.player import Player
from betcode.agents.demo.stage import AgentIdentity, Stage

_EXIT_TERMINATED = 143  # the claude CLI's exit code after SIGTERM


def main(arguments: Sequence[str]) -> int:
    """Converse on stdin and stdout until the host closes its end; the exit code is the claude CLI's."""
    options = _options(arguments)
    part = AgentIdentity(
        session_id=options.resume or options.session_id or str(uuid.uuid4()),
        model=options.model or frames.MODEL,
        cwd=str(Path.cwd()),
        permission_mode=options.permission_mode,
        allowed_tools=frozenset(name.strip() for name in options.allowed_tools.split(",") if name.strip()),
        speed=options.speed,
    )
    stage = Stage(part, Inbox(sys.stdin.fileno()), sys.stdout.fileno())
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(_EXIT_TERMINATED))
    signal.signal(signal.SIGINT, _interrupt)
    try:
        return _converse(stage, options)
    except BadLine as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (BrokenPipeError, _Stop):
        return 0


class _Stop(BaseException):
    """SIGINT: the process ends, as the claude CLI does."""


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise _Stop


def _converse(stage: Stage, options: argparse.Namespace) -> int:
    played = Player(load_cassette(options.cassette), stage) if options.cassette else None
    flood = Flood(options.flood, options.rate, options.bytes) if options.flood else None
    while messages := stage.next_messages():
        text = "\n".join(message.text for message in messages)
        if flood is not None:
            flood.play_turn(stage)
            continue
        player = played or _by_heart(text, stage)
        try:
            player.play_turn()
        except _Stop:
            player.break_off()
            raise
    return 1 if stage.last_was_error else 0


def _by_heart(message: str, stage: Stage) -> Player:
    name = repertoire.choose(message)
    others = [load_cassette(path) for path in repertoire.other_paths_of(name)]
    return Player(load_cassette(repertoire.path_of(name)), stage, others=others)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="betcode.agents.demo",
        description="An agent that plays recordings; it speaks the claude CLI's stream-json on stdio.",
    )
    parser.add_argument("--session-id", default="", help="the conversation's id")
    parser.add_argument("--resume", default="", help="the id of a conversation to continue")
    parser.add_argument("--model", default="", help="the name to report")
    parser.add_argument("--permission-mode", default="default", help="the mode to report")
    parser.add_argument("--allowed-tools", default="", help="tools that need no permission, separated by commas")
    parser.add_argument("--speed", type=float, default=1.0, help="1: as recorded, 2: twice as fast, 0: without pauses")
    parser.add_argument("--cassette", type=Path, help="play this recording (or journal) instead of the repertoire")
    parser.add_argument("--flood", type=int, default=0, metavar="LINES", help="answer with this number of text deltas")
    parser.add_argument("--rate", type=float, default=0.0, help="with --flood: deltas per second; 0: without pauses")
    parser.add_argument("--bytes", type=int, default=0, help="with --flood: minimum length of a delta's text")
    return parser.parse_args(arguments)
