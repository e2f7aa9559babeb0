"""Print a conversation for people, event by event."""

from collections.abc import Callable, Mapping

from betcode.cli.terminal.console import Screen
from betcode.domain.events.event_json import event_json
from betcode.domain.events.event_table import EventTable
from betcode.v1 import agent_pb2 as v1
from betcode.wording.answer import AnswerText
from betcode.wording.prompts import Permission
from betcode.wording.render import DESCRIBED, Describer, turn_end_words, turn_summary


class Transcript:
    """Prints events as lines of the result."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._answer = AnswerText()
        self._describer = Describer(screen.deprecations)
        self._usage = ""

    def show(self, event: v1.AgentEvent) -> None:
        """Print the event, if it has something to show."""
        handler = PRINTED.handler(event)
        if handler is not None:
            handler(self, event)

    def remember_prompt(self, event: v1.AgentEvent) -> None:
        """Remember a prompt that is shown elsewhere, to describe its answer later."""
        self._describer.describe(event)

    def typed(self, event: v1.AgentEvent) -> None:
        """Remember a message that was typed here: it is already on the terminal."""

    def _text(self, event: v1.AgentEvent) -> None:
        self._screen.answer(self._answer.take(event))
        if event.text_delta.is_partial:
            self._screen.end_answer()
            self._screen.line("[cut short]")

    def _user_input(self, event: v1.AgentEvent) -> None:
        self._turn_over()
        for line in event.user_input.content.split("\n"):
            self._screen.line(f"> {line}")
        for name in event.user_input.attachments:
            self._screen.line(f"> [{name}]")

    def _permission(self, event: v1.AgentEvent) -> None:
        for line in Permission(event.permission_request, bool(event.cuts)).lines():
            self._screen.line(f"? {line}")

    def _question(self, event: v1.AgentEvent) -> None:
        self._describer.describe(event)
        self._screen.line(f"? {event.user_question.question}")

    def _note_usage(self, event: v1.AgentEvent) -> None:
        self._usage = turn_summary(event.usage)

    def _turn_complete(self, event: v1.AgentEvent) -> None:
        self._turn_over()
        words = turn_end_words(event.turn_complete.stop_reason, self._usage)
        self._screen.line(f"── {words}" if words else "──")
        self._usage = ""

    def _describe(self, event: v1.AgentEvent) -> None:
        for line in self._describer.describe(event):
            self._screen.line(line)

    def _turn_over(self) -> None:
        self._screen.end_answer()
        self._answer = AnswerText()


_OWN: Mapping[str, Callable[[Transcript, v1.AgentEvent], None]] = {
    "text_delta": Transcript._text,
    "user_input": Transcript._user_input,
    "permission_request": Transcript._permission,
    "user_question": Transcript._question,
    "usage": Transcript._note_usage,
    "turn_complete": Transcript._turn_complete,
}
PRINTED: EventTable[Callable[[Transcript, v1.AgentEvent], None]] = EventTable(
    "the printed transcript",
    {**dict.fromkeys(DESCRIBED.handlers, Transcript._describe), **_OWN},
    ignored=DESCRIBED.ignored - _OWN.keys(),
)


class EventLines:
    """Prints every event as one line of JSON, for scripts."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, event: v1.AgentEvent) -> None:
        self._screen.json(event_json(event))

    remember_prompt = typed = show
