"""An agent that never says that it will show what it does: rules that deny would not hold, so it gets nothing to do."""

from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.domain.records import RecordKind
from support.daemon import obedient_daemon
from support.rule_files import project_rules, write_rules
from support.runs import runs_in
from support.talk import is_idle, settled_text
from support.world import obedient_talk

pytestmark = pytest.mark.anyio

SOON = {"agents": {"hang_after": "1s"}}


async def test_it_is_ended_with_a_clear_error_and_nothing_is_said_to_it(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings=SOON) as daemon, open_client(daemon.places) as client:
        write_rules(project_rules(daemon), deny=["Bash(ls *)"])
        (daemon.work / "deaf").touch()
        talk = await obedient_talk(daemon, client)
        await talk.say("peek")
        events = await talk.until(is_idle)
        errors = [event.error.message for event in events if event.HasField("error")]
        assert len(errors) == 2, "it is tried once more"
        assert all("rules that deny or ask would not hold" in error for error in errors)
        assert "permissions.screen_all" in errors[-1]
        for run in runs_in(daemon.places.runs):
            assert not any(b"peek" in line for line in run.lines(RecordKind.IN))
        (daemon.work / "deaf").unlink()
        assert settled_text(await talk.turn("peek")) == "kept out"
        assert not (daemon.work / "peeked.txt").exists()
