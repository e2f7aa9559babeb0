"""What a real agent changes is shown turn by turn, also where a background task began the turn."""

import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from support.apis.messages.script import bash, say, use
from support.daemon.session import Talk, is_idle
from support.git.repositories import make_repository
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]


async def _changed(talk: Talk, turn: int) -> tuple[str, str]:
    """The note, and what was added and removed."""
    async with aclosing(talk.client.diffs.of_session(talk.session_id, turn=turn)) as chunks:
        read = [chunk async for chunk in chunks]
    lines = b"".join(chunk.data for chunk in read).decode().splitlines()
    changed = " ".join(line for line in lines if line[:1] in "+-" and not line.startswith(("---", "+++ /dev/null")))
    return "".join(chunk.note for chunk in read), changed


async def test_an_edit_and_what_a_background_task_brings_about_belong_to_their_turns(tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work", {"shop.txt": "open\n", ".gitignore": "go\n"})
    edit = use("Edit", {"file_path": str(work / "shop.txt"), "old_string": "open", "new_string": "closed"})
    waits = bash("until [ -e go ]; do sleep 0.05; done", "[[fake:after]] wait for it", run_in_background=True)
    noted = threading.Event()  # a real model takes longer to answer than git to look; this one need not
    write = use("Write", {"file_path": str(work / "report.txt"), "content": "done\n"}, gate=noted, gate_after_chunks=1)
    scripts = {
        "begin": [use("Read", {"file_path": str(work / "shop.txt")}), edit, waits, say("It runs.")],
        "after": [write, say("Written.")],
    }
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(allowed_tools=("Bash", "Read", "Edit", "Write"))
        await talk.turn("[[fake:begin]]")
        assert await _changed(talk, 1) == ("", "+++ b/shop.txt -open +closed")
        (work / "go").touch()
        await talk.summary_when(lambda summary: summary.status == "active")
        assert await _changed(talk, 2) == ("turn 2 is open: compared with the tree as it is now", "")
        noted.set()
        ended = (await talk.until("turn_complete"))[-1].turn_complete
        assert (ended.origin, list(ended.message_ids)) == ("task-notification", [])
        await talk.until(is_idle)
        assert await _changed(talk, 2) == ("", "+++ b/report.txt +done")
        assert (await _changed(talk, 0))[1] == "+++ b/report.txt +done +++ b/shop.txt -open +closed"
