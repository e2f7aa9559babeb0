"""Lifecycle state of one session beside its turns: started, stopped, restarted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from betcode.domain.sessions.binding import BindingRecord, SessionBinding
from betcode.domain.sessions.phase import Phase, PhaseFacts, Transition, phase_of
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.values.identifiers import SessionId
from betcode.engine.core.state import Session
from betcode.util import wall_clock

WORDS = {
    Phase.CREATED: "created",
    Phase.STARTING: "its agent is being started",
    Phase.RUNNING: "waiting for a message",
    Phase.WORKING: "a message is being worked on",
    Phase.STOPPING: "being stopped",
    Phase.STOPPED: "stopped",
    Phase.FAILED: "failed",
}


@dataclass(slots=True)
class Lifecycle:
    """What is known of it beside the session's value; what must outlive the daemon is in the binding of the value."""

    was_started: bool = False
    is_starting: bool = False
    is_stopping: bool = False
    _told: Phase = Phase.CREATED

    def take_up(self, bound: BindingRecord, session: Session) -> None:
        """As it was stored. Nobody is told: this is where the session stood."""
        self.was_started = bound.first_run_ns > 0
        self.is_stopping = session.binding.stop_by_ns > 0 and session.state.status is not SessionStatus.CLOSED
        self._told = self.phase(session)

    @property
    def is_changing(self) -> bool:
        return self.is_starting or self.is_stopping

    def phase(self, session: Session) -> Phase:
        has_failed = bool(session.binding.failure)
        return phase_of(
            PhaseFacts(session.state.status, self.was_started, self.is_starting, self.is_stopping, has_failed)
        )

    def told(self, session_id: SessionId, session: Session, words: str) -> Transition | None:
        """What is to be said since the last time; None: nothing."""
        before, now = self._told, self.phase(session)
        if now is before:
            return None
        self._told = now
        words = words or (session.binding.failure if now is Phase.FAILED else "") or WORDS[now]
        return Transition(session_id, before, now, words, wall_clock.now_ns())

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Count as being stopped from here on, unless the block fails."""
        before, self.is_stopping = self.is_stopping, True
        try:
            yield
        except BaseException:
            self.is_stopping = before
            raise

    def stops(self) -> None:
        self.is_stopping = True

    def stop_is_over(self) -> None:
        self.is_stopping = False

    def starts(self) -> None:
        self.is_starting = True

    def has_agent(self) -> None:
        """The session has had an agent from here on."""
        self.was_started = True

    def start_is_over(self) -> None:
        self.is_starting = False

    def rests(self) -> None:
        """Neither a start nor a stop is in progress."""
        self.is_starting = self.is_stopping = False


def started_binding(binding: SessionBinding, now_ns: int) -> SessionBinding:
    """The binding of a session whose agent is ready now: its time begins anew."""
    deadline_ns = now_ns + binding.timeout_ns if binding.timeout_ns else 0
    return replace(binding, started_ns=now_ns, deadline_ns=deadline_ns, failure="")
