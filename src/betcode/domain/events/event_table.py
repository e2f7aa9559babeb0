"""Tables that name every kind of event, so that no consumer drops a new kind without a decision."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Generic, TypeVar

from betcode.v1.agent_pb2 import AgentEvent

EVENT_KINDS = frozenset(field.name for field in AgentEvent.DESCRIPTOR.oneofs_by_name["event"].fields)

Handler = TypeVar("Handler")


@dataclass(frozen=True, slots=True)
class EventTable(Generic[Handler]):
    """The handlers of one consumer by event kind, and the kinds that it ignores on purpose.

    `tests/contract/test_event_tables.py` fails when a kind is in neither set. At run time such a kind is ignored, as
    is an event of a newer daemon, which has no kind here.
    """

    consumer: str
    handlers: Mapping[str, Handler]
    ignored: frozenset[str] = frozenset()

    def handler(self, event: AgentEvent) -> Handler | None:
        """The handler of the event's kind; None if the consumer ignores it."""
        return self.handlers.get(event.WhichOneof("event") or "")

    def faults(self, kinds: AbstractSet[str] = EVENT_KINDS) -> list[str]:
        """One sentence per kind that the table does not declare exactly once."""
        handled = frozenset(self.handlers)
        return [
            *(f"{self.consumer} neither handles nor ignores {kind}" for kind in sorted(kinds - handled - self.ignored)),
            *(f"{self.consumer} both handles and ignores {kind}" for kind in sorted(handled & self.ignored)),
            *(
                f"{self.consumer} declares {kind}, which is no event"
                for kind in sorted((handled | self.ignored) - kinds)
            ),
        ]
