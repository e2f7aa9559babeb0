"""Looks at files: off the event loop, bounded, and without a file that nobody needs."""

import os
import subprocess
import sys
from pathlib import Path
from threading import get_ident

import pytest

from betcode.config.paths import Paths
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.engine.permissions.rule_files import RuleBook, RuleShelf
from betcode.rules import ScreenOutcome, ToolUse, screen
from betcode.util.bounded_io import BoundedIO, follow_links
from support.daemon.process import becomes_true
from support.patience import PATIENCE_S
from support.rules.files import write_rules
from support.storage.hung_disk import hung_disk

pytestmark = pytest.mark.anyio

SHORT_S = 0.05
LEFT_HANGING = """
import asyncio
from threading import Event
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.util.bounded_io import BoundedIO
async def main():
    try:
        await BoundedIO(0.05).run(Event().wait)
    except FilesystemTimeout:
        print("went on")
asyncio.run(main())
"""


async def test_what_needs_no_file_is_done_at_once_and_the_rest_in_a_thread(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    file_io = BoundedIO()
    assert await file_io.inline_or_run(get_ident) == get_ident()
    assert await file_io.run(get_ident) != get_ident()
    assert await file_io.inline_or_run(lambda: follow_links(str(tmp_path / "link"))) == os.path.realpath(
        tmp_path / "file"
    )


async def test_what_a_look_raises_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(ZeroDivisionError):
        await BoundedIO().run(lambda: 1 // 0)


async def test_a_look_that_hangs_is_given_up_and_no_other_joins_it(tmp_path: Path) -> None:
    file_io, begun = BoundedIO(SHORT_S), list[str]()
    with hung_disk(tmp_path) as disk:

        def look() -> bool:
            begun.append("")
            return (tmp_path / "file").exists()

        for _ in range(2):
            with pytest.raises(FilesystemTimeout):
                await file_io.run(look)
        assert len(begun) == 1, "the second knows that the first hangs"
        assert await BoundedIO(PATIENCE_S).run(lambda: "other files") == "other files"
        disk.comes_back()
        await becomes_true(lambda: not file_io.hangs)
        assert await file_io.run(look) is False
    assert len(begun) == 2
    assert disk.on_a_loop == []


def test_a_look_that_hangs_keeps_no_process_from_ending() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT_HANGING], capture_output=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == b"went on\n"


def book_in(root: Path) -> RuleBook:
    paths = Paths(root / "state", root / "config", root / "state" / "daemon.sock")
    write_rules(paths.config_dir / "settings.json", allow=["Bash"], deny=["Bash(rm *)"])
    return RuleShelf(paths, SHORT_S).book(str(root / "work"), {"HOME": str(root / "home")})


def outcome(book: RuleBook, command: str) -> ScreenOutcome:
    return screen(ToolUse("Bash", {"command": command}), book.rules).outcome


async def test_while_settings_give_no_answer_nothing_is_allowed_and_what_was_denied_stays_so(tmp_path: Path) -> None:
    for name in ("work/.claude", "config", "state", "home"):
        (tmp_path / name).mkdir(parents=True)
    book = book_in(tmp_path)
    await book.refresh()
    assert (outcome(book, "make"), outcome(book, "rm x")) == (ScreenOutcome.ALLOW, ScreenOutcome.DENY)
    with hung_disk(tmp_path / "work") as disk:
        assert await book.refresh()
        assert (outcome(book, "make"), outcome(book, "rm x")) == (ScreenOutcome.ASK, ScreenOutcome.DENY)
        assert book.forbids
        assert not await book.refresh(), "it is known already"
    assert disk.on_a_loop == []
    await becomes_true(lambda: not book.file_io.hangs)
    await book.refresh()
    assert (outcome(book, "make"), outcome(book, "rm x")) == (ScreenOutcome.ALLOW, ScreenOutcome.DENY)
