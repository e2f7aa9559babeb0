"""The cards of one session, the one that was asked first on top."""

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.widgets import Static

from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Allow, Deny, Given, Permission, Prompt
from betcode.wording.terminal_text import clean


class CardDeck(Static, can_focus=True):
    """Hidden while nothing is asked."""

    class Answered(Message):
        """A person has decided; the screen tells the daemon."""

        def __init__(self, prompt: Prompt, given: Given) -> None:
            super().__init__()
            self.prompt = prompt
            self.given = given

    def __init__(self) -> None:
        super().__init__(id="cards", markup=False)
        self.display = False
        self._open: tuple[v1.PendingPrompt, ...] = ()

    def show(self, prompts: Sequence[v1.PendingPrompt]) -> None:
        """What is open in this session now."""
        self._open = tuple(one for one in prompts if one.WhichOneof("prompt") == "permission")
        self.display = bool(self._open)
        if self._open:
            lines = Permission(self._open[0].permission, False).lines()
            self.update(clean("\n".join([*lines, "[y] allow  [n] deny"])))

    def on_key(self, event: events.Key) -> None:
        if not self._open:
            return
        prompt = Permission(self._open[0].permission, False)
        if event.key == "y":
            self.post_message(self.Answered(prompt, Allow()))
        elif event.key == "n":
            self.post_message(self.Answered(prompt, Deny("")))
