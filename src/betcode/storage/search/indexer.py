"""The thread that updates the search index from the log, in small steps."""

import asyncio
import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from betcode.domain.errors import StorageDegraded
from betcode.storage.search.search_index import SearchIndex, discard, search_file
from betcode.telemetry import log_context

logger = logging.getLogger(__name__)

_LAG_S = 1.0  # what a second brings goes together, unless someone asks
_PAUSE_S = 0.003  # between two steps: others want the interpreter
_RETRY_S = 2.0
_MADE_AGAIN_AFTER_S = 0.1


class Indexer:
    """Commits report which sessions have new events; a search may wait until they are indexed."""

    def __init__(self, log: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path = log
        self._loop = loop
        self._lock = threading.Lock()
        self._touched: set[int] | None = None  # None: compare all sessions
        self._waiting: list[asyncio.Future[bool]] = []
        self._erasing: list[asyncio.Future[bool]] = []  # of those who deleted a session
        self._damaged = False
        self._stirred = threading.Event()
        self._hurry = threading.Event()  # someone waits, or it is to end
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="search-indexer", daemon=True)
        self._stirred.set()  # events that an earlier daemon did not index
        self._thread.start()

    def note(self, sessions: Sequence[int]) -> None:
        """On the loop, after a commit: these sessions have changed."""
        if not sessions:
            return
        with self._lock:
            if self._touched is not None:
                self._touched.update(sessions)
        if not self._stirred.is_set():
            self._stirred.set()

    async def up_to_date(self, within_s: float) -> bool:
        """Whether everything committed before this call is in the index; waits at most for that time."""
        future: asyncio.Future[bool] = self._loop.create_future()
        with self._lock:
            self._waiting.append(future)
        self._hurry.set()
        self._stirred.set()
        done, _ = await asyncio.wait((future,), timeout=within_s)
        return bool(done) and future.result()

    async def erase(self, session: int) -> None:
        """Return when no word of a deleted session is in any file of the index.

        Raises:
            StorageDegraded: the index cannot be written now.
        """
        future: asyncio.Future[bool] = self._loop.create_future()
        with self._lock:
            if self._touched is not None:
                self._touched.add(session)
            self._erasing.append(future)
        self._hurry.set()
        self._stirred.set()
        if not await future:
            raise StorageDegraded("The search index cannot be written", reason="its file cannot be written")

    def begin_again(self) -> None:
        """A search found the index damaged."""
        with self._lock:
            self._damaged = True
        self._stirred.set()

    def stop(self) -> None:
        """From another thread: end after the step that is under way."""
        self._ending.set()
        self._hurry.set()
        self._stirred.set()
        self._thread.join()

    def _run(self) -> None:
        log_context.begin("index")
        index: SearchIndex | None = None
        trouble = ""
        while not self._ending.is_set():
            try:
                if index is None:
                    index = SearchIndex(self._path)
                self._wait()
                self._keep_up(index)
                trouble = ""
            except Exception as error:
                if str(error) != trouble:
                    trouble = str(error)
                    logger.warning("the search index cannot be updated: %s", trouble, exc_info=error)
                if index is not None:
                    index.close()
                    index = None
                self._after(error)
        if index is not None:
            index.close()
        with self._lock:
            self._tell(self._waiting, complete=False)
            self._tell(self._erasing, complete=False)

    def _wait(self) -> None:
        self._stirred.wait()
        self._hurry.wait(_LAG_S)
        # In this order: a session that is noted from here on sets the event again.
        if not self._ending.is_set():
            self._hurry.clear()
            self._stirred.clear()

    def _keep_up(self, index: SearchIndex) -> None:
        touched, waiting, erasing = self._taken()
        complete = erased = False
        try:
            for session in index.behind() if touched is None else sorted(touched):
                while index.step(session):
                    if self._ending.wait(_PAUSE_S):
                        return
            complete = True
            if erasing:
                while index.merge():
                    if self._ending.wait(_PAUSE_S):
                        return
                index.rewrite()
                erased = True
        finally:
            self._tell(waiting, complete=complete)
            self._tell(erasing, complete=erased)

    def _taken(self) -> tuple[set[int] | None, list[asyncio.Future[bool]], list[asyncio.Future[bool]]]:
        with self._lock:
            if self._damaged:
                raise apsw.CorruptError("a search met damage")
            touched, self._touched = self._touched, set()
            waiting, self._waiting = self._waiting, []
            erasing, self._erasing = self._erasing, []
        return touched, waiting, erasing

    def _after(self, error: Exception) -> None:
        """Everything is compared again; a damaged index is made anew at once, other trouble may pass."""
        with self._lock:
            self._touched = None
            waiting, self._waiting = [*self._waiting, *self._erasing], []
            self._erasing = []
            self._damaged = False
        self._tell(waiting, complete=False)
        self._stirred.set()
        damaged = isinstance(error, apsw.CorruptError | apsw.NotADBError)
        if damaged:
            with suppress(OSError):
                discard(search_file(self._path))
        self._ending.wait(_MADE_AGAIN_AFTER_S if damaged else _RETRY_S)

    def _tell(self, waiting: Iterable[asyncio.Future[bool]], *, complete: bool) -> None:
        for future in waiting:
            self._loop.call_soon_threadsafe(_settle, future, complete)


def _settle(future: asyncio.Future[bool], complete: bool) -> None:
    if not future.done():
        future.set_result(complete)
