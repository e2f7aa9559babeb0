"""An agent that says much while nobody listens: all of it is taken in, though it says nothing more."""

from pathlib import Path

import anyio
import pytest

from betcode.domain.runs.journal_record import RecordKind
from support.daemon.runs import RunOnDisk, runs_in
from support.daemon.session import assert_whole, is_idle, kinds
from support.patience import PATIENCE_S
from support.providers.claude_world import demo_sessions, demo_talk

pytestmark = pytest.mark.anyio

# Of 128 KiB more in the journal each, so that wherever a reader's limit falls, one of them ends just behind it.
_FLOODS = [1_400 + 177 * step for step in range(5)]


def _turn_is_over(run: RunOnDisk) -> bool:
    return any(b'"type":"result"' in line for line in run.lines(RecordKind.OUT)[-5:])


@pytest.mark.behaviour("reconcile.sessions.adopted")
async def test_what_was_said_without_a_daemon_is_read_to_its_end(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talks = [await demo_talk(daemon, client, flood=lines, rate=4_000, bytes=400) for lines in _FLOODS]
        for talk in talks:
            await talk.say("go")
        for talk in talks:
            await talk.until("text_delta")
        daemon.kill()
        with anyio.fail_after(PATIENCE_S):
            while not all(_turn_is_over(run) for run in runs_in(daemon.paths.runs)):  # noqa: ASYNC110 - of files
                await anyio.sleep(0.05)
        await daemon.start()
        for lines, talk in zip(_FLOODS, talks, strict=True):
            await talk.until(is_idle)
            said = [event for event in talk.events if event.text_delta.text and not event.text_delta.is_complete]
            assert len(said) == lines
            assert kinds(talk.events).count("turn_complete") == 1
            assert_whole(talk.events)
