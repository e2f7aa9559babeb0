"""Asks one question at a time on the terminal, and lets go of it when somebody else has answered."""

import anyio

from betcode.cli.keyboard import Keyboard
from betcode.cli.prompts import Allow, Deny, Desk, Permission, Prompt, Reply, ShowAll, understand
from betcode.cli.screen import Screen


class Asker:
    """Shows a prompt and reads until a line answers it."""

    def __init__(self, screen: Screen, desk: Desk) -> None:
        self._screen = screen
        self._desk = desk
        self._keyboard = Keyboard()

    async def ask(self, prompt: Prompt) -> Allow | Deny | Reply | None:
        """The answer; None where the prompt is no longer open."""
        if not self._desk.has(prompt):
            return None
        self._show(prompt, whole=False)
        while True:
            self._screen.ask(prompt.question)
            line = await self._line_while_open(prompt)
            if line is not None:
                self._screen.typed()
            if not self._desk.has(prompt):
                return None
            if line is None:
                return Deny("The person closed the terminal's input")
            match understand(prompt, line):
                case None:
                    self._screen.note("Please answer y or n" if isinstance(prompt, Permission) else "Please answer")
                case ShowAll():
                    self._show(prompt, whole=True)
                case (Allow() | Deny() | Reply()) as answer:
                    return answer

    def _show(self, prompt: Prompt, *, whole: bool) -> None:
        lines = prompt.lines(whole=whole) if isinstance(prompt, Permission) else prompt.lines()
        for line in lines:
            self._screen.note(line)
        # What was typed before the question could be read is no answer to it.
        self._keyboard.forget_what_was_typed()

    async def _line_while_open(self, prompt: Prompt) -> str | None:
        line: str | None = None
        async with anyio.create_task_group() as tasks:

            async def let_go_when_resolved() -> None:
                await self._desk.gone(prompt)
                tasks.cancel_scope.cancel()

            tasks.start_soon(let_go_when_resolved)
            line = await self._keyboard.line()
            tasks.cancel_scope.cancel()
        return line
