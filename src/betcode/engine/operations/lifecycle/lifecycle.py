"""Lifecycle state of one session beside its turns: started, stopped, restarted."""

from dataclasses import dataclass, replace

from betcode.domain.sessions.binding import NO_BINDING, BindingRecord, SessionBinding
from betcode.domain.sessions.phase import Phase, PhaseFacts, Transition, phase_of
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.values.identifiers import SessionId
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
    """What is known of it beside the session's own state; what must outlive the daemon is in the bond."""

    binding: SessionBinding = NO_BINDING
    was_started: bool = False
    is_starting: bool = False
    is_stopping: bool = False
    _told: Phase = Phase.CREATED

    def take_up(self, bound: BindingRecord, status: SessionStatus) -> None:
        """As it was stored. Nobody is told: this is where the session stood."""
        self.binding = bound.binding
        self.was_started = bound.first_run_ns > 0
        self.is_stopping = bound.binding.stop_by_ns > 0 and status is not SessionStatus.CLOSED
        self._told = self.phase(status)

    @property
    def is_changing(self) -> bool:
        return self.is_starting or self.is_stopping

    def phase(self, status: SessionStatus) -> Phase:
        return phase_of(
            PhaseFacts(status, self.was_started, self.is_starting, self.is_stopping, bool(self.binding.failure))
        )

    def told(self, session: SessionId, status: SessionStatus, words: str) -> Transition | None:
        """What is to be said since the last time; None: nothing."""
        before, now = self._told, self.phase(status)
        if now is before:
            return None
        self._told = now
        words = words or (self.binding.failure if now is Phase.FAILED else "") or WORDS[now]
        return Transition(session, before, now, words, wall_clock.now_ns())

    def begun(self, now_ns: int) -> SessionBinding:
        """The bond of a session whose agent is ready now: its time begins anew."""
        deadline_ns = now_ns + self.binding.timeout_ns if self.binding.timeout_ns else 0
        return replace(self.binding, started_ns=now_ns, deadline_ns=deadline_ns, failure="")
