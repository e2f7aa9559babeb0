"""The binding of a session to a campaign, and how it began and ended: stored for the obey API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from betcode.domain.values.identifiers import SessionId, SessionKey


@dataclass(frozen=True, slots=True)
class SessionBinding:
    """One session's; a session that has none behaves as with an empty one."""

    campaign_id: str = ""
    festival_id: str = ""
    task_id: str = ""
    parent: str = ""  # the session that this one was made from, once that had ended
    restart_count: int = 0
    started_ns: int = 0  # its agent was ready
    ended_ns: int = 0
    failure: str = ""  # the error that closed it, or stopped it and no message was accepted since; empty: none
    timeout_ns: int = 0  # of the session, from each start on; 0: none
    deadline_ns: int = 0  # when that ends, as wall time
    stop_by_ns: int = 0  # a stop is in progress, and waits for the turn until then; 0: none is


NO_BINDING = SessionBinding()


@dataclass(frozen=True, slots=True)
class BindingRecord:
    """A session's binding with facts about its runs."""

    binding: SessionBinding = NO_BINDING
    first_run_ns: int = 0  # when its first agent was started; 0: never
    crash_note: str = ""  # how its newest agent crashed; empty: it did not


NO_BINDING_RECORD = BindingRecord()


@dataclass(frozen=True, slots=True)
class DueSession:
    """A session with something due: its timeout, or the end of a stop."""

    session: SessionId
    binding: SessionBinding


class BindingStore(Protocol):
    """The port of the store of bindings."""

    async def bound(self, session: SessionKey) -> BindingRecord:
        """Return a session's binding, with facts about its runs."""
        ...

    async def all_bound(self) -> Mapping[SessionKey, BindingRecord]: ...

    async def unfinished(self) -> Sequence[DueSession]:
        """The open sessions that have a timeout, or that are being stopped."""
        ...
