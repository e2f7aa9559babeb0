"""Request, answer and transfer the input lock of one session."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from betcode.domain.errors import InvalidRequest, NoInputLock, SessionClosed
from betcode.engine.client_name import NOBODY, ClientName
from betcode.engine.context import EngineContext
from betcode.engine.core import events
from betcode.engine.core.input_lock import InputLock, LockDecision, LockGranted, LockTimes
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell.session_tasks import SessionTasks
from betcode.engine.shell.writer import SessionWriter
from betcode.util.signal import ChangeSignal
from betcode.util.wall_clock import now_ns

BOARD = "input_lock"


@dataclass(slots=True, eq=False)
class _Ask:
    """One call that waits for the lock."""

    settled: anyio.Event = field(default_factory=anyio.Event)
    decision: LockDecision | None = None  # None: the session has ended


class InputLockService:
    """The lock's state is decided by `InputLock`; here are its clients, its clock and those who wait."""

    def __init__(self, context: EngineContext, writer: SessionWriter, tasks: SessionTasks) -> None:
        self._context = context
        self._tasks = tasks
        self._writer = writer
        self._lock = InputLock()
        self._closed = False
        self._here: Counter[str] = Counter()  # open streams and calls by client
        self._names: dict[str, ClientName] = {}  # of those who are here
        self._asks: dict[str, list[_Ask]] = {}
        self._stirred = ChangeSignal()
        self._keeps_time = False
        self._told: object = None  # what the board says

    @property
    def holder(self) -> ClientName:
        return self._name(self._lock.holder)

    @contextmanager
    def here(self, client: ClientName) -> Iterator[None]:
        """The client has a stream or a call open; when its last one ends it has left, with lock and place in line."""
        self._here[client.client_id] += 1
        self._names[client.client_id] = client
        if self._told is None:
            self._tell()
        try:
            yield
        finally:
            self._here[client.client_id] -= 1
            if not self._here[client.client_id]:
                del self._here[client.client_id]
                self._apply(*self._lock.left(client.client_id, anyio.current_time(), self._times))
                self._names.pop(client.client_id, None)

    @contextmanager
    def typing(self, client: ClientName) -> Iterator[None]:
        """While a message of this client is taken; it holds the lock then, as long as it is here.

        A message that is not taken after all leaves the lock as it was.

        Raises:
            NoInputLock: another client holds it.
        """
        if not self._lock.admits(client.client_id):
            raise self._locked_out()
        before = self._lock
        if client.client_id in self._here:  # who is not here could not leave, and would keep it for ever
            self._apply(self._lock.sent(client.client_id, anyio.current_time()), ())
        try:
            yield
        except Exception:
            self._apply(*self._lock.unsent(client.client_id, before, anyio.current_time(), self._times))
            raise

    async def request(self, client: ClientName) -> tuple[bool, str]:
        """Whether the client has the lock now, and who gave it up; waits while the holder may answer.

        Raises:
            SessionClosed: it was closed, perhaps meanwhile.
        """
        ask = _Ask()
        with self.here(client):
            asks = self._asks.setdefault(client.client_id, [])
            asks.append(ask)
            try:
                if not self._closed:
                    self._apply(*self._lock.asked(client.client_id, anyio.current_time(), self._times))
                    await ask.settled.wait()
            finally:
                if not ask.settled.is_set():
                    self._forget(client.client_id, ask)
        match ask.decision:
            case LockGranted(_, previous):
                return True, previous
            case None:
                raise SessionClosed(self._writer.new.session_id)
            case _:
                return False, ""

    def answer(self, client: ClientName, asking: str, *, grant: bool) -> None:
        """The holder gives the lock to one who waits, or refuses; the same answer again changes nothing.

        Raises:
            NoInputLock: somebody else holds it.
            InvalidRequest: nobody of that name waits.
        """
        lock = self._lock
        asking = asking or lock.asking
        if grant and asking and asking == lock.holder and asking != client.client_id:
            return
        if lock.holder and lock.holder != client.client_id:
            raise self._locked_out()
        if not lock.waits(asking):
            raise InvalidRequest("No client with that id is waiting for the input lock", asking_client_id=asking)
        self._apply(*lock.answered(asking, grant, anyio.current_time(), self._times))

    def resume(self) -> None:
        """After the session's tasks were cancelled: keep the time of those who wait again."""
        self._keeps_time = False
        self._apply(self._lock, ())

    def close(self) -> None:
        """The session takes no input any more: nobody holds the lock, and nobody waits for it."""
        self._closed = True
        for ask in [ask for asks in self._asks.values() for ask in asks]:
            ask.settled.set()
        self._asks.clear()
        self._apply(InputLock(), ())

    # ------------------------------------------------------------ inside

    @property
    def _times(self) -> LockTimes:
        settings = self._context.settings
        return LockTimes(settings.lock_answer_s, settings.lock_idle_s)

    def _locked_out(self) -> NoInputLock:
        holder = self.holder
        return NoInputLock(self._writer.new.session_id, holder.client_id, holder.client_type, holder.shown_as)

    def _name(self, client_id: str) -> ClientName:
        return self._names.get(client_id, NOBODY)

    def _forget(self, client_id: str, ask: _Ask) -> None:
        """A call that waited was given up by its client, who may have another one that goes on waiting."""
        asks = self._asks.get(client_id, [])
        if ask in asks:
            asks.remove(ask)
        if not asks:
            self._asks.pop(client_id, None)
            self._apply(self._lock.withdrawn(client_id, anyio.current_time(), self._times), ())

    def _apply(self, lock: InputLock, decisions: tuple[LockDecision, ...]) -> None:
        self._lock = lock
        for decision in decisions:
            for ask in self._asks.pop(decision.client, ()):
                ask.decision = decision
                ask.settled.set()
        if (lock.holder, lock.asking, lock.line) != self._told:
            self._tell()
        if self._keeps_time:
            self._stirred.notify()
        elif lock.line:
            self._keeps_time = True
            self._tasks.start_soon(FaultPoint.LOCK_CLOCK, self._keep_time)

    def _tell(self) -> None:
        lock = self._lock
        self._told = (lock.holder, lock.asking, lock.line)
        answer_by_ns = 0
        if lock.asking:
            answer_by_ns = now_ns() + round((lock.answer_by - anyio.current_time()) * 1e9)
        event = events.input_lock(
            self.holder, self._name(lock.asking), answer_by_ns, [waiter.client for waiter in lock.line]
        )
        self._writer.tail.post(BOARD, events.stamp(event, now_ns()).SerializeToString())
        self._context.roster.note_lock(self._writer.key, lock.holder)

    async def _keep_time(self) -> None:
        """While somebody waits: let silence and rest decide."""
        while (due := self._lock.due(self._times)) is not None:
            with anyio.CancelScope(deadline=due):
                await self._stirred.wait()
            self._apply(*self._lock.ticked(anyio.current_time(), self._times))
        self._keeps_time = False
