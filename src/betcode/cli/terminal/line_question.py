"""Ask a person a question that is answered with a line."""

import signal

import anyio

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.race import first_of
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.keyboard import Keyboard


class QuestionInterrupted(CommandFailed):
    """Ctrl-C at a question: neither yes nor no."""

    def __init__(self) -> None:
        super().__init__("Interrupted: no answer was recorded", ExitCode.INTERRUPTED)


async def says_yes(screen: Screen, question: str) -> bool:
    """Ask a yes/no question; input typed before it is ignored."""
    return is_yes(await asked(screen, question))


def is_yes(answer: str) -> bool:
    return answer in ("y", "yes")


async def asked(screen: Screen, question: str) -> str:
    """Return the line that the person types; `quit` at the end of input and after Ctrl-C."""
    try:
        return await answer_of(screen, question)
    except QuestionInterrupted:
        return "quit"


async def answer_of(screen: Screen, question: str) -> str:
    """Return the line that the person types; `quit` at the end of input.

    Raises:
        QuestionInterrupted: the person pressed Ctrl-C.
    """
    keyboard = Keyboard()
    was_interrupted = False
    with anyio.open_signal_receiver(signal.SIGINT) as signals:  # before the question is visible

        async def interrupt() -> None:
            nonlocal was_interrupted
            await signals.__anext__()
            was_interrupted = True

        keyboard.forget_what_was_typed()
        screen.ask(question)
        answer = await first_of(interrupt, keyboard.line)
    if was_interrupted:
        screen.passed()
        raise QuestionInterrupted
    if answer is None:
        return "quit"
    screen.typed()
    return answer.strip().lower()


async def interrupted() -> None:
    """Wait until the person presses Ctrl-C, which has no other effect meanwhile."""
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            return
