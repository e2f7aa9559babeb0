"""Print one line on stderr when an agent has been silent for a while."""

import anyio

from betcode.cli.terminal.console import Screen
from betcode.v1 import agent_pb2 as v1
from betcode.wording.silence import NO_ANSWER, SILENT_AFTER_S, is_answer


class SilenceNote:
    """Prints the line once, if the agent sends nothing in the first `after_s` of the turn."""

    def __init__(self, screen: Screen, after_s: float = SILENT_AFTER_S) -> None:
        self._screen = screen
        self._after_s = after_s
        self._heard = anyio.Event()

    def see(self, event: v1.AgentEvent) -> None:
        if is_answer(event):
            self._heard.set()

    async def watch(self) -> None:
        """Wait for the time to pass, from the moment at which the message was sent."""
        with anyio.move_on_after(self._after_s):
            await self._heard.wait()
            return
        self._screen.note(f"{NO_ANSWER[0].upper()}{NO_ANSWER[1:]} ({self._after_s:g} s); waiting")
