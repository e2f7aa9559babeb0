"""Ask one question at a time on the terminal, and withdraw it if someone else answers."""

from betcode.cli.core.race import first_of
from betcode.cli.permission.input_editor import edited_in_editor
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.keyboard import Keyboard
from betcode.wording.edited_input import InvalidEdit, edited_in_line
from betcode.wording.prompts import (
    AllowEdited,
    Deny,
    Edit,
    OpenPrompts,
    Permission,
    Prompt,
    PromptAnswer,
    ShowAll,
    ShowChoices,
    understand,
)


class Asker:
    """Shows a prompt and reads lines until one answers it."""

    def __init__(self, screen: Screen, desk: OpenPrompts) -> None:
        self._screen = screen
        self._open_prompts = desk
        self._keyboard = Keyboard()

    async def ask(self, prompt: Prompt) -> PromptAnswer | None:
        """Return the answer; None if the prompt is no longer open."""
        if not self._open_prompts.has(prompt):
            return None
        self._show(prompt, whole=False)
        while True:
            self._screen.ask(prompt.question)
            line = await self._line_while_open(prompt)
            if line is not None:
                self._screen.typed()
            if not self._open_prompts.has(prompt):
                return None
            if line is None:
                return Deny("The terminal's input was closed")
            match understand(prompt, line):
                case None:
                    self._screen.note(prompt.again)
                case ShowAll():
                    self._show(prompt, whole=True)
                case ShowChoices():
                    self._show_choices(prompt)
                case Edit(text):
                    answer = await edited(prompt, text, self._screen)
                    if answer is not None:
                        return answer
                case answer:
                    return answer

    def _show(self, prompt: Prompt, *, whole: bool) -> None:
        lines = prompt.lines(whole=whole) if isinstance(prompt, Permission) else prompt.lines()
        for line in lines:
            self._screen.show(line)
        self._show_choices(prompt)
        # Input typed before the question was visible is not an answer.
        self._keyboard.discard_input()

    def _show_choices(self, prompt: Prompt) -> None:
        if isinstance(prompt, Permission):
            for line in prompt.choices():
                self._screen.show(line)

    async def _line_while_open(self, prompt: Prompt) -> str | None:
        return await first_of(lambda: self._open_prompts.gone(prompt), self._keyboard.line)


async def edited(prompt: Prompt, text: str, screen: Screen) -> AllowEdited | None:
    """Return the answer with the edited input; None, after a message to the person, if nothing was edited."""
    assert isinstance(prompt, Permission)
    try:
        if text:
            return AllowEdited(edited_in_line(prompt.request, text))
        return AllowEdited(await edited_in_editor(prompt.request, screen))
    except InvalidEdit as trouble:
        screen.note(str(trouble))
        return None
