"""Old sessions are deleted one by one: what one of them has does not keep the others."""

from types import SimpleNamespace
from typing import cast

import pytest

from betcode.domain.errors import AgentUnavailable, BetcodeError, SessionNotFound, StorageDegraded
from betcode.domain.values.identifiers import SessionId
from betcode.engine.context import EngineContext
from betcode.engine.maintenance.housekeeping import ClockJumps, delete_old_sessions

pytestmark = pytest.mark.anyio

OLD = [SessionId("one"), SessionId("two"), SessionId("three")]


class _Store:
    async def closed_before(self, before_ns: int, limit: int) -> list[SessionId]:
        return OLD[:limit] if before_ns else []


async def tried(trouble: BetcodeError) -> list[SessionId]:
    """The sessions that are tried where the first cannot be deleted."""
    met: list[SessionId] = []

    async def delete(session: SessionId) -> bool:
        met.append(session)
        if session == OLD[0]:
            raise trouble
        return True

    await delete_old_sessions(cast("EngineContext", SimpleNamespace(store=_Store())), delete, before_ns=1)
    return met


@pytest.mark.parametrize("trouble", [AgentUnavailable("it cannot be ended"), SessionNotFound("one")])
async def test_a_session_that_cannot_be_deleted_keeps_no_other(trouble: BetcodeError) -> None:
    assert await tried(trouble) == OLD


async def test_on_a_full_disk_no_other_is_tried() -> None:
    assert await tried(StorageDegraded("full")) == OLD[:1]


def test_a_clock_that_leaps_ahead_is_noticed_once() -> None:
    leaps, hour = ClockJumps(), 3600 * 10**9
    assert not leaps.leapt(now_ns=1000 * hour, monotonic_ns=0)
    assert not leaps.leapt(now_ns=1002 * hour, monotonic_ns=2 * hour)
    assert leaps.leapt(now_ns=9000 * hour, monotonic_ns=3 * hour)
    assert not leaps.leapt(now_ns=9001 * hour, monotonic_ns=4 * hour)
    assert not leaps.leapt(now_ns=1005 * hour, monotonic_ns=5 * hour)  # it was set back
