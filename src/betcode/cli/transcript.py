"""A conversation as a person reads it, event after event."""

from betcode.cli.screen import Screen
from betcode.domain.events_json import event_json
from betcode.v1 import agent_pb2 as v1
from betcode.wording.answer import Answer
from betcode.wording.prompts import Permission
from betcode.wording.render import Describer, turn_end_words, turn_summary


class Transcript:
    """Prints events to the screen's result."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._answer = Answer()
        self._describer = Describer(screen.deprecations)
        self._usage = ""

    def show(self, event: v1.AgentEvent) -> None:
        """Print what the event has to tell, if anything."""
        kind = event.WhichOneof("event")
        match kind:
            case "text_delta":
                self._screen.answer(self._answer.take(event))
                if event.text_delta.is_partial:
                    self._screen.end_answer()
                    self._screen.line("[cut short]")
            case "user_input":
                self._turn_over()
                for line in event.user_input.content.split("\n"):
                    self._screen.line(f"> {line}")
                for name in event.user_input.attachments:
                    self._screen.line(f"> [{name}]")
            case "permission_request":
                for line in Permission(event.permission_request, bool(event.cuts)).lines():
                    self._screen.line(f"? {line}")
            case "user_question":
                self._describer.describe(event)
                self._screen.line(f"? {event.user_question.question}")
            case "usage":
                self._usage = turn_summary(event.usage)
            case "turn_complete":
                self._turn_over()
                told = turn_end_words(event.turn_complete.stop_reason, self._usage)
                self._screen.line(f"── {told}" if told else "──")
                self._usage = ""
            case _:
                for line in self._describer.describe(event):
                    self._screen.line(line)

    def take_note(self, event: v1.AgentEvent) -> None:
        """Of a prompt that is shown elsewhere, so that its end can be told in the right words."""
        self._describer.describe(event)

    def typed(self, event: v1.AgentEvent) -> None:
        """Of a message that was typed here: it stands on the screen already."""

    def _turn_over(self) -> None:
        self._screen.end_answer()
        self._answer = Answer()


class EventLines:
    """The same conversation for a script: every event, one JSON object a line."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, event: v1.AgentEvent) -> None:
        self._screen.json(event_json(event))

    take_note = typed = show
