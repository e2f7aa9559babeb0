"""A question to a person who is there, answered with a line."""

import signal

import anyio

from betcode.cli.either import unless
from betcode.cli.keyboard import Keyboard
from betcode.cli.screen import Screen


async def says_yes(screen: Screen, question: str) -> bool:
    """Whether a person who is there wants it; what was typed before the question is no answer."""
    return await asked(screen, question) in ("y", "yes")


async def asked(screen: Screen, question: str) -> str:
    """What a person who is there types; `quit` at the end of input, and after Ctrl-C."""
    keyboard = Keyboard()
    with anyio.open_signal_receiver(signal.SIGINT) as signals:  # before anybody can see the question
        keyboard.forget_what_was_typed()
        screen.ask(question)
        answer = await unless(signals.__anext__, keyboard.line)
    if answer is not None:
        screen.typed()
    return "quit" if answer is None else answer.strip().lower()


async def interrupted() -> None:
    """Until somebody presses Ctrl-C, which then means nothing else."""
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            return
