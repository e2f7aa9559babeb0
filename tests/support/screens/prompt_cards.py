"""Screens of sessions whose agents ask for what the prompt says (agents/asker.py), and what those agents are told."""

import itertools
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from betcode.client import NewConversation, open_client
from betcode.tui.cards.card import Card
from support.daemon.process import Daemon, agent_program, becomes_true, running_daemon
from support.screens.screen import ShownScreen, open_screen

BASH = 'use Bash {"command": "git push origin main", "description": "push it"}'


@asynccontextmanager
async def asking_daemon(root: Path) -> AsyncIterator[Daemon]:
    async with running_daemon(root, claude_bin=agent_program(root, "asker.py")) as daemon:
        yield daemon


class Asking:
    """One session and its screen."""

    def __init__(self, screen: ShownScreen, session_id: str, work: Path) -> None:
        self.screen = screen
        self.session_id = session_id
        self._answers = work / "answers.jsonl"

    async def ask(self, *lines: str) -> None:
        """Have the agent ask this, without a hand on the keyboard."""
        await self.screen.client.send(self.session_id, "\n".join(lines))

    async def heard(self, count: int = 1) -> list[dict[str, Any]]:
        """What the agent was told, as soon as it is so many answers."""
        await becomes_true(lambda: self._answers.exists() and self._answers.read_text().count("\n") >= count)
        return [json.loads(line) for line in self._answers.read_text().splitlines()]


async def asking_session(daemon: Daemon, work: Path, name: str = "") -> str:
    work.mkdir(exist_ok=True)
    async with open_client(daemon.paths) as client:
        session_id = await client.start_session(NewConversation(str(work), provider="claude"))
        if name:
            await client.rename(session_id, name)
    return session_id


@asynccontextmanager
async def asking_screen(
    daemon: Daemon, work: Path, session_id: str = "", *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Asking]:
    """A screen on a session in this directory; its cards were always read for long enough."""
    session_id = session_id or await asking_session(daemon, work)
    async with open_screen(daemon, session_id, size=size) as screen:
        await screen.shows("connected")
        never_early(screen)
        yield Asking(screen, session_id, work)


def never_early(screen: ShownScreen) -> None:
    """Whatever is shown was read before a key is pressed."""
    screen.app.screen.query_one(Card).clock = itertools.count(time.monotonic() + 100.0, 1.0).__next__


def told(answer: Mapping[str, Any]) -> tuple[str, str]:
    """What an agent was told: yes or no, and why."""
    return answer["behavior"], answer.get("message", "")
