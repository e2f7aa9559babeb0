"""Progress lines on a terminal, shown only while nothing else is on their line."""

import io
import threading

import anyio
import pytest

from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.progress import show_blocking_progress, show_progress


class Tty(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        size = super().write(text)
        self.written.set()
        return size

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


@pytest.mark.anyio
async def test_long_work_shows_a_line_that_passes() -> None:
    out, err = io.StringIO(), Tty()
    with anyio.fail_after(5):
        async with show_progress(Screen(out, err, colour=False, rewrites=True), "Searching", after_s=0.001):
            while "Searching… 0 s" not in err.getvalue():  # noqa: ASYNC110
                await anyio.sleep(0.001)
    assert err.getvalue().endswith("\r\x1b[K")
    assert out.getvalue() == ""


@pytest.mark.anyio
async def test_no_progress_is_shown_during_an_answer_or_a_question() -> None:
    out, err = Tty(), Tty()
    screen = Screen(out, err, colour=False, rewrites=True)
    screen.answer("half a li")
    async with show_progress(screen, "Working", after_s=0.001):
        await anyio.sleep(0.02)
    assert (out.getvalue(), err.getvalue()) == ("half a li", "")
    screen.end_answer()
    screen.ask("Really? ")
    async with show_progress(screen, "Working", after_s=0.001):
        await anyio.sleep(0.02)
    assert err.getvalue() == "Really? \n"


@pytest.mark.anyio
async def test_an_exception_passes_through_unchanged() -> None:
    with pytest.raises(ValueError, match="as it is"):
        async with show_progress(Screen(io.StringIO(), io.StringIO(), colour=False), "Working"):
            raise ValueError("as it is")


@pytest.mark.parametrize("rewrites", [True, False])
def test_blocking_work_is_shown_if_a_line_can_be_replaced(*, rewrites: bool) -> None:
    err = Tty()
    with show_blocking_progress(Screen(io.StringIO(), err, colour=False, rewrites=rewrites), "Checking", after_s=0.001):
        assert err.written.wait(5 if rewrites else 0.02) == rewrites
    assert ("Checking… 0 s" in err.getvalue()) == rewrites
