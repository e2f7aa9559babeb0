"""A question to a person who is there, answered with a line."""

from betcode.cli.keyboard import Keyboard
from betcode.cli.screen import Screen


async def says_yes(screen: Screen, question: str) -> bool:
    """Whether a person who is there wants it; what was typed before the question is no answer."""
    return await asked(screen, question) in ("y", "yes")


async def asked(screen: Screen, question: str) -> str:
    """What a person who is there types; `quit` at the end of input."""
    keyboard = Keyboard()
    keyboard.forget_what_was_typed()
    screen.ask(question)
    answer = await keyboard.line()
    if answer is not None:
        screen.typed()
    return "quit" if answer is None else answer.strip().lower()
