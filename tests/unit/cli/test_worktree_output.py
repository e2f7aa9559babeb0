"""The output of a setup as plain lines, in pieces of any size."""

import io

from hypothesis import given
from hypothesis import strategies as st

from betcode.cli.terminal.console import Screen
from betcode.cli.worktree.progress import ProgressLines
from betcode.cli.worktree.setup_output import OutputLines
from betcode.v1 import worktree_pb2 as v1

WRITTEN = (
    "\x1b[32madded\x1b[0m 12 packages\r\n"
    "10 %\r50 %\r\x1b[K100 % fertig ✓\n"
    "\x1b]0;owned\x07title\n"
    "\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\\n"
    "ends without a line"
).encode()
LINES = ["added 12 packages", "100 % fertig ✓", "title", "link", "ends without a line"]


@given(st.lists(st.integers(0, len(WRITTEN)), max_size=8))
def test_any_cutting_gives_the_same_lines(cuts: list[int]) -> None:
    lines = OutputLines()
    found: list[str] = []
    ends = [*sorted(cuts), len(WRITTEN)]
    for start, end in zip([0, *ends], ends, strict=False):
        found += lines.feed(WRITTEN[start:end])
    assert [*found, lines.rest()] == LINES
    assert lines.rest() == ""


def test_a_line_without_an_end_does_not_grow_for_ever() -> None:
    lines = OutputLines()
    shown = [line for _ in range(64) for line in lines.feed(b"x" * 1024)]
    assert sum(map(len, shown)) + len(lines.incomplete) == 64 * 1024
    assert len(lines.incomplete) < 17 * 1024


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(err: io.StringIO) -> None:
    show = ProgressLines(Screen(io.StringIO(), err, colour=False, rewrites=True))
    show.step(v1.WorktreeStep(what="npm install", number=2, of=3))
    show.output(v1.WorktreeOutput(data=b"resolving"))
    show.output(v1.WorktreeOutput(data=b" done\nlate", left_out_bytes=2_000_000))
    show.step(v1.WorktreeStep(what="make", number=3, of=3))


def test_a_pipe_gets_whole_lines_alone() -> None:
    err = io.StringIO()
    progress(err)
    assert err.getvalue().splitlines() == [
        "[2/3] npm install",
        "  resolving",
        "… 2.0 MB omitted",
        "   done",
        "  late",
        "[3/3] make",
    ]


def test_a_terminal_shows_an_incomplete_line_until_another_replaces_it() -> None:
    err = Tty()
    progress(err)
    assert err.getvalue().startswith("[2/3] npm install\n  resolving\r\x1b[K")
    assert err.getvalue().endswith("  late\r\x1b[K  late\n[3/3] make\n")
