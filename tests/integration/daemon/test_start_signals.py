"""Signals at any moment of a start: SIGTERM and SIGINT end it cleanly, SIGHUP does not end it."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from betcode.config.lockfile import is_held
from betcode.util.start_signals import blocked_signals
from support.daemon.process import Daemon, becomes_true
from support.plugins.wide import wide_where

pytestmark = pytest.mark.anyio

# Seconds from the start of the process: from the interpreter's own start to a daemon that serves.
MOMENTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)


async def signalled(daemon: Daemon, number: signal.Signals, moment_s: float) -> None:
    with blocked_signals():  # as `betcode daemon start` does
        process = daemon.launch(argv=daemon.argv)  # a new interpreter, whose own start counts
    await anyio.sleep(moment_s)
    process.send_signal(number)


# Every third moment is a representative: the interpreter, the imports and the start itself have one each.
@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(MOMENTS[::3], id="every third"),
        pytest.param([each for each in MOMENTS if each not in MOMENTS[::3]], id="the others", marks=pytest.mark.wide),
    ],
)
async def test_a_start_that_is_stopped_ends_cleanly_at_any_moment(tmp_path: Path, moments: Sequence[float]) -> None:
    daemon = Daemon(tmp_path)
    try:
        ends = {}
        for moment_s in moments:
            await signalled(daemon, signal.SIGTERM if moment_s < 0.5 else signal.SIGINT, moment_s)
            ends[moment_s] = await daemon.ended()
            assert not daemon.paths.socket.exists(), moment_s
            assert not is_held(daemon.paths.lock), moment_s
        assert set(ends.values()) == {0}, ends
        await daemon.start()  # nothing half done is in its way
        assert await daemon.stop() == 0
        assert "Traceback" not in daemon.stderr
    finally:
        daemon.end_everything()


@pytest.mark.parametrize("moment_s", wide_where([0.0, 0.05, 0.2, 0.4, 0.8], {0.05, 0.4}.__contains__))
async def test_a_hangup_during_the_start_does_not_end_it(tmp_path: Path, moment_s: float) -> None:
    daemon = Daemon(tmp_path)
    try:
        await signalled(daemon, signal.SIGHUP, moment_s)
        await daemon.until_it_serves(0)
        await becomes_true(lambda: daemon.exit_code is None)
        os.kill(daemon.pid, signal.SIGTERM)
        assert await daemon.ended() == 0
    finally:
        daemon.end_everything()
