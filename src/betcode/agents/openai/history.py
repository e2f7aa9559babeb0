"""A conversation built from its records: open calls, the model's view, and trimming."""

from collections.abc import Sequence
from dataclasses import dataclass

from betcode.agents.openai.records import (
    AnswerReported,
    Call,
    CallBegun,
    Ended,
    ModelAnswer,
    Record,
    ToolOutput,
    Trimmed,
    UserMessage,
)

LEFT_OUT = "(omitted, because the conversation became too long; run the tool again if you need this)"
INTERRUPTED = "Interrupted: this was started, and it is not known how far it got. Check before you run it again."
_WORTH_DROPPING = 400  # characters of an output; a shorter one is hardly longer than its replacement
# Without a count from the API: English and code have about four characters in a token, JSON and other languages fewer.
_CHARACTERS_PER_TOKEN = 3.0
_LONGEST_ID = 50  # with a number after it, still shorter than the APIs' limit
_IMAGE_CHARACTERS = 4000  # an image costs about a thousand tokens, however long its base64 is

Shown = UserMessage | ModelAnswer | ToolOutput


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call without an output."""

    call: Call
    is_begun: bool


class History:
    """Follows the records of one conversation."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._shown: list[list[Shown]] = []  # by exchange: a message and all that followed it
        self._ended: dict[str, Ended] = {}
        self._ids: set[str] = set()
        self._call_ids: set[str] = set()
        self._begun: set[str] = set()
        self._dropped_outputs: frozenset[str] = frozenset()
        self.dropped_exchanges = 0
        self.message_id = ""  # of the turn that is open; empty: none is
        self.last_message_id = ""  # of the newest turn, open or not
        self.is_told = True
        self.answers = 0  # so many there were
        self._known: tuple[int, int] | None = None  # characters of a request, and the tokens that they were
        for record in records:
            self.note(record)

    def note(self, record: Record) -> None:
        match record:
            case UserMessage():
                self._ids.add(record.message_id)
                self.message_id = self.last_message_id = record.message_id
                self._shown.append([record])
            case ModelAnswer():
                self._shown[-1].append(record)
                self._begun.clear()
                self._call_ids.update(call.call_id for call in record.calls)
                self.answers += 1
                self.is_told = False
            case ToolOutput():
                self._shown[-1].append(record)
            case AnswerReported():
                self.is_told = True
            case CallBegun():
                self._begun.add(record.call_id)
            case Trimmed():
                self.dropped_exchanges, self._dropped_outputs = record.exchanges, frozenset(record.outputs)
                self._known = None
            case Ended():
                self._ended[record.message_id] = record
                self.message_id = ""
                self.is_told = True

    def with_own_ids(self, answer: ModelAnswer) -> ModelAnswer:
        """Give each call a unique id in the conversation; a server may send duplicates, none, or overlong ones."""
        names: list[str] = []
        for call in answer.calls:
            own, number = call.call_id[:_LONGEST_ID], len(self._call_ids) + len(names)
            while not own or own in self._call_ids or own in names:
                number += 1
                own = f"{call.call_id[:_LONGEST_ID] or 'call'}-{number}"
            names.append(own)
        calls = tuple(Call(own, call.name, call.arguments) for own, call in zip(names, answer.calls, strict=True))
        rest = iter(names)
        items = tuple(
            {**item, "call_id": next(rest)} if item.get("type") == "function_call" else item for item in answer.items
        )
        return ModelAnswer(answer.text, calls, items, answer.is_partial)

    def knows(self, message_id: str) -> bool:
        return message_id in self._ids

    def end_of(self, message_id: str) -> Ended | None:
        return self._ended.get(message_id)

    def last_answer(self, message_id: str) -> ModelAnswer | None:
        """The newest answer in the turn of that message."""
        for exchange in self._shown:
            first = exchange[0]
            if isinstance(first, UserMessage) and first.message_id == message_id:
                return next((each for each in reversed(exchange) if isinstance(each, ModelAnswer)), None)
        return None

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """Calls of the newest answer that have no output yet, in order."""
        if not self._shown:
            return ()
        outputs: set[str] = set()
        for each in reversed(self._shown[-1]):
            match each:
                case ToolOutput():
                    outputs.add(each.call_id)
                case ModelAnswer():
                    calls = (call for call in each.calls if call.call_id not in outputs)
                    return tuple(OpenCall(call, call.call_id in self._begun) for call in calls)
                case UserMessage():
                    return ()
        return ()

    @property
    def final(self) -> ModelAnswer | None:
        """Return the answer that completes the open turn, if only its end is missing."""
        newest = self._shown[-1][-1] if self._shown and self.message_id else None
        return newest if isinstance(newest, ModelAnswer) and not newest.calls else None

    @property
    def shown(self) -> list[Shown]:
        """Return what the model is to read."""
        kept = [each for exchange in self._shown[self.dropped_exchanges :] for each in exchange]
        return [
            ToolOutput(each.call_id, LEFT_OUT, each.is_error)
            if isinstance(each, ToolOutput) and each.call_id in self._dropped_outputs
            else each
            for each in kept
        ]

    # ---------------------------------------------------------------- length

    def measured(self, input_tokens: int) -> None:
        """Record the API's token count of the current content."""
        if input_tokens > 0:
            self._known = (max(1, _characters(self.shown)), input_tokens)

    @property
    def tokens(self) -> int:
        """About how many the model would have to read."""
        now = _characters(self.shown)
        if self._known is None:
            return int(now / _CHARACTERS_PER_TOKEN)
        then, tokens = self._known
        return tokens + int((now - then) / _CHARACTERS_PER_TOKEN)

    def trimmed_to(self, tokens: int) -> Trimmed | None:
        """Return what to omit so that about so many tokens remain, the oldest first; None: nothing can be omitted.

        Exchanges are omitted completely, so that no call is without its output. Of the newest one only the text of
        outputs is omitted.
        """
        excess = (self.tokens - tokens) * _CHARACTERS_PER_TOKEN
        dropped, outputs = self.dropped_exchanges, set(self._dropped_outputs)
        while dropped < len(self._shown) - 1 and excess > 0:
            excess -= _characters(self._shown[dropped])
            dropped += 1
        if self._shown and excess > 0:
            for each in self._shown[-1]:
                long = isinstance(each, ToolOutput) and len(each.text) > _WORTH_DROPPING
                if long and isinstance(each, ToolOutput) and each.call_id not in outputs and excess > 0:
                    excess -= len(each.text)
                    outputs.add(each.call_id)
        trimmed = Trimmed(dropped, tuple(sorted(outputs)))
        return None if trimmed == Trimmed(self.dropped_exchanges, tuple(sorted(self._dropped_outputs))) else trimmed


def _characters(shown: Sequence[Shown]) -> int:
    return sum(_length(each) for each in shown)


def _length(shown: Shown) -> int:
    match shown:
        case UserMessage():
            return sum(len(part.text) + (_IMAGE_CHARACTERS if part.image else 0) for part in shown.parts)
        case ModelAnswer():
            return len(shown.text) + sum(len(call.name) + len(call.arguments) for call in shown.calls)
        case ToolOutput():
            return len(shown.text)
