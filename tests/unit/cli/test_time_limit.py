"""The time limit of a turn."""

import io

import anyio
import pytest
from grpc import StatusCode

from betcode.cli.run.time_limit import TimeLimit
from betcode.cli.terminal.console import Screen
from betcode.client import ClientError

pytestmark = pytest.mark.anyio


def screen() -> tuple[Screen, io.StringIO]:
    err = io.StringIO()
    return Screen(io.StringIO(), err, colour=False), err


async def test_a_turn_that_does_not_stop_is_cancelled_again_and_then_left_open() -> None:
    shown, err = screen()
    asked: list[str] = []

    async def cancel() -> None:
        asked.append("cancel")

    limit = TimeLimit(shown, cancel, 0, patience_s=(0.001, 0.001, 0.001))
    left: list[str] = []
    await limit.enforce(lambda: left.append("left"))
    assert (len(asked), left) == (3, ["left"])
    assert limit.is_over
    assert limit.is_detached
    assert "stopping it again" in err.getvalue()
    assert "a stop was requested" in limit.detach_message("s")


async def test_a_daemon_that_refuses_or_hangs_is_not_waited_for() -> None:
    shown, err = screen()
    count = 0

    async def cancel() -> None:
        nonlocal count
        count += 1
        if count == 1:
            raise ClientError("It cannot", code="INTERNAL", details={}, status=StatusCode.INTERNAL)
        await anyio.sleep_forever()

    limit = TimeLimit(shown, cancel, 0, patience_s=(0.001, 0.001))
    with anyio.fail_after(5):
        await limit.enforce(lambda: None)
    assert limit.is_detached
    assert "It cannot" in err.getvalue()
    assert "stop was requested" not in limit.detach_message("s")
    assert "may continue" in limit.detach_message("s")


async def test_without_a_limit_nothing_happens() -> None:
    shown, err = screen()
    limit = TimeLimit(shown, anyio.sleep_forever)
    await limit.enforce(lambda: None)
    assert not limit.is_over
    assert err.getvalue() == ""
