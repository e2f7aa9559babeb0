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


async def confirm(screen: Screen, question: str) -> bool:
    """Ask a yes/no question; input typed before it is ignored."""
    return is_yes(await ask_line(screen, question))


def is_yes(answer: str) -> bool:
    return answer in ("y", "yes")


async def ask_line(screen: Screen, question: str) -> str:
    """Return the line that the person types; `quit` at the end of input and after Ctrl-C."""
    try:
        return await read_answer(screen, question)
    except QuestionInterrupted:
        return "quit"


async def read_answer(screen: Screen, question: str) -> str:
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

        keyboard.discard_input()
        screen.ask(question)
        answer = await first_of(interrupt, keyboard.line)
    if was_interrupted:
        screen.clear_transient()
        raise QuestionInterrupted
    if answer is None:
        return "quit"
    screen.typed()
    return answer.strip().lower()


async def wait_for_interrupt() -> None:
    """Wait until the person presses Ctrl-C, which has no other effect meanwhile."""
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            return
