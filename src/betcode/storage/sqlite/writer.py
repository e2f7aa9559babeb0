"""The writer thread: waiting jobs share one transaction, and each job fails alone."""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import apsw

from betcode.domain.errors import BetcodeError, StorageFailed, WorktreeExists
from betcode.storage.sqlite.database import degraded, opening_trouble, passing_trouble, storage_error
from betcode.storage.sqlite.worker_thread import GilYield, Job, outcome
from betcode.telemetry import log_context

logger = logging.getLogger(__name__)

T = TypeVar("T")
AnyJob = Job[Any]

_GROUP_LIMIT = 256


class Again:
    """What a job gives that has more to do: it goes to the end of the line."""


AGAIN = Again()


@dataclass(frozen=True, slots=True)
class _JobResult:
    job: AnyJob
    result: object = None
    error: BaseException | None = None


class Writer:
    """Owns the write connection from its making to the end of `stop`."""

    def __init__(
        self,
        db: apsw.Connection,
        *,
        on_fatal: Callable[[BaseException], None],
        on_pages: Callable[[int], None],
        faults: Callable[[str], None],
        begin: Callable[[apsw.Connection], None] | None = None,
    ) -> None:
        """`begin` is called in the thread before the first commit, and again before each until it succeeds."""
        self._begin = begin
        self.gate = threading.Lock()  # held in a transaction; acquire it to pause the writer
        self._db = db
        self._loop = asyncio.get_running_loop()
        self._on_fatal = on_fatal
        self._on_pages = on_pages
        self._faults = faults
        self._queue: SimpleQueue[AnyJob | None] = SimpleQueue()
        self._gil_yield = GilYield(self._loop)
        self._in_hand: Sequence[AnyJob] = ()
        self._open = True
        self._died_of: BaseException | None = None
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    async def write(self, work: Callable[[apsw.Connection], T]) -> T:
        """What `work` gives, once it is committed.

        Raises:
            StorageDegraded: nothing can be written now.
            StorageFailed: this work is refused; nothing of it is there.
        """
        job = Job(self._loop, work)
        self._submit(job)
        return await outcome(job.future)

    def write_later(self, work: Callable[[apsw.Connection], object]) -> None:
        """Queue work without waiting for it; a failure is only logged."""
        job = Job(self._loop, work)
        job.future.add_done_callback(lambda future: future.exception())
        self._submit(job)

    def close(self) -> None:
        """On the loop: nothing more is taken."""
        self._open = False

    def stop(self) -> BaseException | None:
        """From another thread: finish what was taken, and end. What the thread died of, if it did."""
        self._queue.put(None)
        self._thread.join()
        return self._died_of

    def _submit(self, job: AnyJob) -> None:
        if not self._open or self._died_of is not None:
            raise StorageFailed("the log is closed")
        self._queue.put(job)
        self._gil_yield.handed_over()

    def _run(self) -> None:
        log_context.begin("append")
        try:
            while (job := self._queue.get()) is not None and self._serve(job):
                pass
        except BaseException as error:
            logger.critical("the log's writer has ended", exc_info=True)
            self._died_of = error
            self._on_fatal(error)
        self._refuse_the_rest()

    def _serve(self, first: AnyJob) -> bool:
        """Commit `first` and the jobs that wait behind it, and give the results; whether to continue."""
        group, going_on = self._gather(first)
        self._in_hand = group
        done = self._commit(group)
        self._in_hand = ()
        for each in done:
            if each.result is AGAIN:
                self._queue.put(each.job)
        self._loop.call_soon_threadsafe(_tell, done)
        if self._queue.empty():
            self._gil_yield.finished()
        self._on_pages(self._db.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0])
        return going_on

    def _gather(self, first: AnyJob) -> tuple[list[AnyJob], bool]:
        group = [first]
        while len(group) < _GROUP_LIMIT:
            try:
                job = self._queue.get_nowait()
            except Empty:
                break
            if job is None:
                return group, False
            group.append(job)
        return group, True

    def _commit(self, group: Sequence[AnyJob]) -> list[_JobResult]:
        """One transaction for the group; what each job came to."""
        if (refusal := self._refusal()) is not None:
            return [_JobResult(job, error=refusal) for job in group]
        try:
            with self.gate:
                done = self._transact(group)
        except apsw.Error as error:
            if len(group) > 1 and not isinstance(error, apsw.BusyError):
                # A commit that is too large for the remaining space must not block the small ones.
                return [each for job in group for each in self._commit((job,))]
            self._say(error)
            return [_JobResult(job, error=storage_error(error)) for job in group]
        if self._trouble:
            logger.warning("the database can be written again")
            self._trouble = ""
        return done

    @property
    def has_begun(self) -> bool:
        """Whether the database could be written since it was opened."""
        return self._begin is None

    def _refusal(self) -> BetcodeError | None:
        """Why nothing can be written before the opening is complete; it is tried again each time."""
        if self._begin is None:
            return None
        try:
            with self.gate:
                self._begin(self._db)
        except (apsw.Error, OSError) as error:
            self._say(error)
            return degraded(opening_trouble(error) or str(error))
        self._begin = None
        return None

    def _transact(self, group: Sequence[AnyJob]) -> list[_JobResult]:
        """All or nothing is committed here, but for jobs that failed by themselves.

        Raises:
            apsw.Error: nothing of the group is there.
        """
        self._db.execute("BEGIN IMMEDIATE")
        try:
            done = [self._try(job) for job in group]
            self._faults("before-commit")
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite may have rolled it back already
                self._db.execute("ROLLBACK")
            raise
        self._faults("after-commit")
        return done

    def _try(self, job: AnyJob) -> _JobResult:
        """The job inside its own savepoint: what fails leaves nothing, and the others untouched."""
        self._db.execute("SAVEPOINT job")
        try:
            result = job.work(self._db)
        except WorktreeExists as refused:  # by the rows that are there, which is no trouble of the database
            self._db.execute("ROLLBACK TO job")
            self._db.execute("RELEASE job")
            return _JobResult(job, error=refused)
        except Exception as error:
            if passing_trouble(error):
                raise
            logger.exception("a commit was refused")
            self._db.execute("ROLLBACK TO job")
            self._db.execute("RELEASE job")
            return _JobResult(job, error=storage_error(error))
        self._db.execute("RELEASE job")
        return _JobResult(job, result)

    def _say(self, error: apsw.Error | OSError) -> None:
        """Say once that nothing can be written, not at every attempt."""
        trouble = opening_trouble(error) or str(error)
        if trouble != self._trouble:
            logger.error("the database cannot be written: %s", trouble, exc_info=error)
            self._trouble = trouble

    def _refuse_the_rest(self) -> None:
        """Nobody waits for a thread that is gone."""
        left = list(self._in_hand)
        while not self._queue.empty():
            job = self._queue.get_nowait()
            if job is not None:
                left.append(job)
        closed = StorageFailed("the log is closed")
        self._loop.call_soon_threadsafe(_tell, [_JobResult(job, error=closed) for job in left])
        self._gil_yield.finished()


def _tell(done: Sequence[_JobResult]) -> None:
    """On the loop, once per transaction."""
    for each in done:
        if each.result is not AGAIN:
            each.job.settle(each.result, each.error)
