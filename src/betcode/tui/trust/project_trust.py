"""Asks whether to trust the project of a session when the session is opened."""

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

import anyio

from betcode.client import ClientError
from betcode.tui.tasks import begin
from betcode.v1 import policy_pb2 as v1
from betcode.wording.project_trust import declined_words, item_lines, needs_question, question_words

if TYPE_CHECKING:
    from betcode.tui.app import BetcodeApp

_OPENING_S = 5.0  # files on a disk that does not answer do not block the keyboard for longer


class ProjectTrust:
    """The trust questions of one app. The daemon remembers a no."""

    def __init__(self, app: "BetcodeApp") -> None:
        self._app = app
        self._asked_projects: set[str] = set()  # projects

    async def ask(self, session_id: str) -> None:
        """Return when the question is visible, or nothing has to be asked. The answer is awaited in its own task."""
        is_open = asyncio.Event()
        begin(self._app, self._ask, session_id, is_open)
        with anyio.move_on_after(_OPENING_S):
            await is_open.wait()

    async def _ask(self, session_id: str, is_open: asyncio.Event) -> None:
        try:
            found = await self._app.client.policy.inspect(session_id=session_id)
            if needs_question(found) and found.project not in self._asked_projects:
                self._asked_projects.add(found.project)
                await self._ask_about(found, is_open)
        except ClientError as error:
            self._app.show_error(error)
        finally:
            is_open.set()

    async def _ask_about(self, found: v1.InspectProjectResponse, is_open: asyncio.Event) -> None:
        from betcode.tui.trust.question import TrustQuestion

        keyboard = self._app.input
        with ExitStack() as aside, ExitStack() as answering:
            question = TrustQuestion(
                item_lines(found),
                question_words(found),
                on_answer=lambda: answering.enter_context(keyboard.hold()),  # a message waits for the answer
            )
            with keyboard.hold():
                await self._app.push_screen(question)
                aside.enter_context(keyboard.aside(before=await question.painted()))
            is_open.set()
            await question.closed.wait()
            if question.answer is None:  # another session was opened
                self._asked_projects.discard(found.project)
            elif question.answer:
                await self._app.client.policy.trust(found.project, trusted=True)
                self._app.notify("Trusted. The next agent that starts here loads the project's settings", markup=False)
            else:
                await self._app.client.policy.decline(found.project)
                self._app.notify(declined_words(found), markup=False)
