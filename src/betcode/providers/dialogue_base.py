"""The parts that all dialogues share: answers from the common fields of their states, and answers of simple agents."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from betcode.domain.agents.agent_state import CallScreening, ToolCall
from betcode.domain.agents.commands import Errand, RefuseRequest
from betcode.domain.store.rows import NewSession

_NOTHING: Mapping[str, str] = MappingProxyType({})


class CommonState(Protocol):
    """The fields that the state of every dialogue has."""

    conversation_id: str
    began: bool
    has_spoken: bool
    plan_mode: bool
    errors: list[str]

    @property
    def requests(self) -> Mapping[str, Any]: ...


StateT = TypeVar("StateT", bound=CommonState)


class DialogueBase(Generic[StateT]):
    """A part of `betcode.domain.ports.Dialogue`; a dialogue overrides what its agent does differently."""

    def __init__(self, session: NewSession, state: StateT) -> None:
        self._session = session
        self._state = state

    @property
    def has_spoken(self) -> bool:
        return self._state.has_spoken

    @property
    def conversation_id(self) -> str:
        return self._state.conversation_id

    @property
    def conversation_began(self) -> bool:
        return self._state.began

    @property
    def open_requests(self) -> tuple[str, ...]:
        return tuple(self._state.requests)

    @property
    def plan_mode(self) -> bool:
        return self._state.plan_mode

    @property
    def last_errors(self) -> tuple[str, ...]:
        return tuple(self._state.errors)

    @property
    def errands(self) -> tuple[Errand, ...]:
        return ()

    @property
    def call_screening(self) -> CallScreening:
        return CallScreening.NO

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return ()

    @property
    def withdrawing(self) -> frozenset[str]:
        return frozenset()

    @property
    def holds(self) -> tuple[str, ...]:
        return ()

    @property
    def refusals(self) -> tuple[RefuseRequest, ...]:
        return ()

    @property
    def chosen(self) -> Mapping[str, str]:
        return _NOTHING
