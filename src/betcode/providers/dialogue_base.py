"""The parts that all dialogues share: a view of their state, built once per change, and its common fields."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypedDict, TypeVar

from betcode.domain.agents.dialogue_view import DialogueView
from betcode.domain.runs.journal_record import Record
from betcode.domain.store.rows import NewSession
from betcode.v1.agent_pb2 import AgentEvent


class CommonState(Protocol):
    """The fields that the state of every dialogue has."""

    conversation_id: str
    began: bool
    has_spoken: bool
    plan_mode: bool

    @property
    def requests(self) -> Mapping[str, Any]: ...


class CommonFields(TypedDict):
    """The fields of a `DialogueView` that every dialogue takes from its state in the same way."""

    conversation_id: str
    conversation_began: bool
    has_spoken: bool
    plan_mode: bool
    open_requests: tuple[str, ...]


StateT = TypeVar("StateT", bound=CommonState)


class DialogueBase(ABC, Generic[StateT]):
    """A part of `betcode.domain.ports.Dialogue`. The state changes only in `receive` and `voided`."""

    def __init__(self, session: NewSession, state: StateT) -> None:
        self._session = session
        self._state = state
        self._view: DialogueView | None = None  # None: the state may have changed since it was built

    def receive(self, record: Record) -> list[AgentEvent]:
        """Return the events of one record, whatever it contains; does not raise."""
        self._view = None
        return self._receive(record)

    def voided(self, now_ns: int) -> list[AgentEvent]:
        self._view = None
        return self._void(now_ns)

    @property
    def view(self) -> DialogueView:
        view = self._view
        if view is None:
            view = self._view = self._build_view()
        return view

    @abstractmethod
    def _receive(self, record: Record) -> list[AgentEvent]: ...

    @abstractmethod
    def _void(self, now_ns: int) -> list[AgentEvent]: ...

    @abstractmethod
    def _build_view(self) -> DialogueView:
        """Return the view of the present state; nothing in it may change later."""

    def _common_fields(self) -> CommonFields:
        state = self._state
        return {
            "conversation_id": state.conversation_id,
            "conversation_began": state.began,
            "has_spoken": state.has_spoken,
            "plan_mode": state.plan_mode,
            "open_requests": tuple(state.requests),
        }
