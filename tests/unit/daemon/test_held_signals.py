"""Signals that were held during the start: whoever handles signals from then on acts on them."""

import signal
from collections.abc import Iterator

import anyio
import pytest

from betcode.daemon import stop as stopping
from betcode.daemon.stop import Stop, on_signals
from betcode.util.start_signals import HELD, StartSignals
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[StartSignals]:
    before = {number: signal.getsignal(number) for number in HELD}
    held = StartSignals()
    monkeypatch.setattr(stopping, "START_SIGNALS", held)
    held.hold()
    yield held
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_that_was_held_stops_the_daemon(held: StartSignals, number: signal.Signals) -> None:
    signal.raise_signal(number)
    assert held.stop_requested
    stop = Stop()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(on_signals, stop)
        with anyio.fail_after(PATIENCE_S):
            await stop.asked.wait()
        stop.in_time()  # or the bound of a stop would end this process
        tasks.cancel_scope.cancel()


async def test_a_hangup_that_was_held_has_the_settings_read_again(held: StartSignals) -> None:
    signal.raise_signal(signal.SIGHUP)
    assert not held.stop_requested
    stop = Stop()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(on_signals, stop)
        with anyio.fail_after(PATIENCE_S):
            await stop.renewal.wait()
        assert not stop.asked.is_set()
        tasks.cancel_scope.cancel()
