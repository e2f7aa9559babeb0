"""The input lock: one client may send; it passes on disconnect, idleness or request. No clock, no tasks."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class LockTimes:
    answer_s: float = 10.0  # for the holder to answer a request; silence gives the lock
    idle_s: float = 300.0  # without input, after which the lock goes to who waits


@dataclass(frozen=True, slots=True)
class LockGranted:
    """The client has the lock from now on."""

    client: str
    previous: str  # who gave it up; empty: nobody held it


@dataclass(frozen=True, slots=True)
class LockRefused:
    """The holder refused the client, who stays in line."""

    client: str


LockDecision = LockGranted | LockRefused


@dataclass(frozen=True, slots=True)
class Waiter:
    client: str
    asked: float  # when; questions are put in this order
    refused: bool = False  # its question was answered; it waits until the holder leaves or rests


@dataclass(frozen=True, slots=True)
class InputLock:
    """The lock of one session. Somebody in line means that somebody holds it; whoever asks is in line."""

    holder: str = ""
    last_input: float = 0.0  # or when the holder got it
    line: tuple[Waiter, ...] = ()  # the longest waiter first
    asking: str = ""  # the one of the line whose question the holder has before it
    answer_by: float = 0.0

    def admits(self, client: str) -> bool:
        """Whether a message of this client is taken now."""
        return self.holder in ("", client)

    def waits(self, client: str) -> bool:
        return any(waiter.client == client for waiter in self.line)

    def due(self, times: LockTimes) -> float | None:
        """When `ticked` has something to decide; None while nobody waits."""
        if not self.line:
            return None
        idle = self.last_input + times.idle_s
        return min(idle, self.answer_by) if self.asking else idle

    def sent(self, client: str, now: float) -> "InputLock":
        """After a message of a client whom the lock admits: it is the holder's, and input."""
        assert self.admits(client)
        return replace(self, holder=client, last_input=now)

    def unsent(
        self, client: str, before: "InputLock", now: float, times: LockTimes
    ) -> tuple["InputLock", tuple[LockDecision, ...]]:
        """A message that was `sent` was not taken: no input, and a lock that was free `before` is the next one's."""
        if client != self.holder:
            return self, ()
        if before.holder == client:
            return replace(self, last_input=before.last_input), ()
        if not self.line:
            return InputLock(), ()
        return self._given(self.line[0].client, now, times)

    def asked(self, client: str, now: float, times: LockTimes) -> tuple["InputLock", tuple[LockDecision, ...]]:
        """A client asks for the lock: given at once where it is free, else the holder has its time to answer."""
        if self.admits(client):
            taken = self if self.holder else replace(self, holder=client, last_input=now)
            return taken, (LockGranted(client, ""),)
        line = tuple(
            Waiter(client, now) if waiter.client == client and waiter.refused else waiter for waiter in self.line
        )
        if not self.waits(client):
            line = (*line, Waiter(client, now))
        return replace(self, line=line)._next_question(now, times).ticked(now, times)

    def answered(
        self, client: str, grant: bool, now: float, times: LockTimes
    ) -> tuple["InputLock", tuple[LockDecision, ...]]:
        """The holder gives the lock to one of the line, or refuses it."""
        assert self.waits(client)
        if grant:
            return self._given(client, now, times)
        line = tuple(replace(waiter, refused=True) if waiter.client == client else waiter for waiter in self.line)
        kept = replace(self, line=line, asking="" if self.asking == client else self.asking)
        return kept._next_question(now, times), (LockRefused(client),)

    def left(self, client: str, now: float, times: LockTimes) -> tuple["InputLock", tuple[LockDecision, ...]]:
        """A client is gone: its place in line too, and what it held goes to the longest waiter at once."""
        lock = self.withdrawn(client, now, times)
        if client != lock.holder:
            return lock, ()
        if not lock.line:
            return InputLock(), ()
        return lock._given(lock.line[0].client, now, times)

    def withdrawn(self, client: str, now: float, times: LockTimes) -> "InputLock":
        """A client waits no longer."""
        line = tuple(waiter for waiter in self.line if waiter.client != client)
        lock = replace(self, line=line, asking="" if self.asking == client else self.asking)
        return lock._next_question(now, times)

    def ticked(self, now: float, times: LockTimes) -> tuple["InputLock", tuple[LockDecision, ...]]:
        """Time has passed: silence gives the lock to who asks, and rest gives it to the longest waiter."""
        if self.asking and now >= self.answer_by:
            return self._given(self.asking, now, times)
        if self.line and now >= self.last_input + times.idle_s:
            return self._given(self.line[0].client, now, times)
        return self, ()

    def _given(self, client: str, now: float, times: LockTimes) -> tuple["InputLock", tuple[LockDecision, ...]]:
        line = tuple(waiter for waiter in self.line if waiter.client != client)
        # Whoever else asks, asks the new holder, who has its own time to answer.
        lock = InputLock(client, now, line)._next_question(now, times)
        return lock, (LockGranted(client, self.holder),)

    def _next_question(self, now: float, times: LockTimes) -> "InputLock":
        if self.asking:
            return self
        askers = [waiter for waiter in self.line if not waiter.refused]
        if not askers:
            return replace(self, answer_by=0.0)
        first = min(askers, key=lambda waiter: waiter.asked)  # not by place: who was refused may ask again and again
        return replace(self, asking=first.client, answer_by=now + times.answer_s)
