"""Show long operations on a worktree: their steps and the output of the setup."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from betcode.cli.core.exit_codes import CommandFailed, ExitCode, exit_of
from betcode.cli.core.race import first_of
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.line_question import wait_for_interrupt
from betcode.cli.worktree.setup_output import OutputLines
from betcode.client import Refused
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import worktree_pb2 as v1
from betcode.wording.sizes import readable


class NotSetUp(CommandFailed):
    """A setup failed; `kept` is the id of the worktree, or empty if the worktree was removed again."""

    def __init__(self, message: str, code: ExitCode, kept: str) -> None:
        super().__init__(message, code)
        self.kept = kept


async def watched(progress: AsyncGenerator[v1.WorktreeProgress, None], screen: Screen) -> v1.WorktreeInfo | None:
    """Show the progress and return the worktree; None after Ctrl-C, while the operation continues."""
    return await first_of(wait_for_interrupt, lambda: _shown(progress, screen))


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
                        pass  # a message of a later daemon
    except Refused as refusal:
        if refusal.code != ErrorCode.WORKTREE_SETUP_FAILED:
            raise
        kept = refusal.details.get("worktree_id", "") if refusal.details.get("kept") == "true" else ""
        raise NotSetUp(without_output(refusal), exit_of(refusal.code), kept) from refusal
    finally:
        show.end()
    return done


def without_output(refusal: Refused) -> str:
    """Return why a setup failed, without the end of its output, which was already shown."""
    lines = refusal.details.get("output", "").splitlines()
    for count in range(len(lines), 0, -1):
        repeated = f": {' | '.join(lines[-count:])}"
        if repeated in refusal.message:
            return refusal.message.replace(repeated, "", 1)
    return refusal.message


class ProgressLines:
    """Prints output: incomplete lines too on a terminal, only whole lines into a pipe."""

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
            self._screen.note(f"… {readable(output.left_out_bytes)} omitted")
        for line in self._lines.feed(output.data):
            self._screen.show(f"  {line}")
        if self._lines.incomplete:
            self._screen.show_transient(f"  {self._lines.incomplete}")

    def end(self) -> None:
        """End an incomplete line."""
        if rest := self._lines.rest():
            self._screen.show(f"  {rest}")
