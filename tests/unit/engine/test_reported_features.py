"""What agents said they have, read from the log when somebody wants to know."""

from types import SimpleNamespace
from typing import cast

import pytest

from betcode.domain.errors import StorageFailed
from betcode.domain.store.rows import SessionRow
from betcode.domain.store.store_ports import SessionFilter, Store
from betcode.domain.values.identifiers import Seq, SessionKey
from betcode.engine.agents.agent_reports import AgentReports
from betcode.v1 import agent_pb2 as v1

pytestmark = pytest.mark.anyio

SAID = v1.AgentEvent(session_info=v1.SessionInfo(tools=["Bash"]))
ROW = SimpleNamespace(key=SessionKey(1), state=SimpleNamespace(landmarks=SimpleNamespace(info=1), model="opus"))


class _Store:
    """Cannot be read so many times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def list_sessions(self, _: SessionFilter) -> tuple[list[SessionRow], str]:
        self._read()
        return [cast("SessionRow", ROW)], ""

    async def newest_of_kind(self, _: SessionKey, __: int, ___: Seq) -> bytes:
        self._read()
        return SAID.SerializeToString()

    def _read(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StorageFailed


async def test_a_database_that_could_not_be_read_is_asked_again() -> None:
    store = _Store(failures=1)
    reports = AgentReports(cast("Store", store))
    with pytest.raises(StorageFailed):
        await reports.all()
    store.failures = 0
    found = await reports.all()
    assert (list(found.tools), list(found.models)) == (["Bash"], ["opus"])
