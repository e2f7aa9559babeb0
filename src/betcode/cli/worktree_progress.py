"""Long work on a worktree as it happens: its steps, and what its setup writes."""

import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio

from betcode.cli.either import unless
from betcode.cli.screen import Screen
from betcode.cli.sizes import readable
from betcode.cli.worktree_output import OutputLines
from betcode.v1 import worktree_pb2 as v1


async def watched(progress: AsyncGenerator[v1.WorktreeProgress, None], screen: Screen) -> v1.WorktreeInfo | None:
    """The worktree when all is done; None where the person pressed Ctrl-C, and the work goes on without us."""
    return await unless(_interrupted, lambda: _shown(progress, screen))


async def _interrupted() -> None:
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            return


async def _shown(progress: AsyncGenerator[v1.WorktreeProgress, None], screen: Screen) -> v1.WorktreeInfo:
    show = ProgressLines(screen)
    done = v1.WorktreeInfo()
    try:
        async with aclosing(progress):
            async for one in progress:
                match one.WhichOneof("progress"):
                    case "step":
                        show.step(one.step)
                    case "output":
                        show.output(one.output)
                    case "done":
                        done = one.done
                    case _:
                        pass  # a later daemon has more to tell
    finally:
        show.end()
    return done


class ProgressLines:
    """On a terminal the line that is being written shows too; into a pipe go whole lines."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lines = OutputLines()

    def step(self, step: v1.WorktreeStep) -> None:
        self.end()
        count = f"[{step.number}/{step.of}] " if step.of else f"[{step.number}] " if step.number else ""
        self._screen.note(f"{count}{step.what}")

    def output(self, output: v1.WorktreeOutput) -> None:
        if output.left_out_bytes:
            self.end()
            self._screen.note(f"… {readable(output.left_out_bytes)} were left out")
        for line in self._lines.feed(output.data):
            self._screen.show(f"  {line}")
        if self._lines.begun:
            self._screen.passing(f"  {self._lines.begun}")

    def end(self) -> None:
        """What was begun is a line of its own."""
        if rest := self._lines.rest():
            self._screen.show(f"  {rest}")
