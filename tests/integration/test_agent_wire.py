"""What goes over the pipes of an agent: broken lines, requests of every kind, attachments; and what stays unread."""

import base64
import ctypes
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from betcode.client import open_client
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.runs.journal_record import RecordKind
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.runs import runs_in
from support.daemon.session import is_idle, settled_text
from support.providers.claude_world import obedient_talk
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio

IN_OPEN = 0x20


def lines_of(daemon: Daemon, kind: RecordKind) -> list[dict[str, Any]]:
    return [json.loads(line) for run in runs_in(daemon.paths.runs) for line in run.lines(kind)]


@pytest.mark.behaviour("wire.stdout.invalid-json-skipped")
async def test_a_line_that_is_no_json_is_logged_as_a_warning_and_skipped(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        (daemon.work / "broken").write_text("this is no JSON\n")
        talk = await obedient_talk(daemon, client)
        events = await talk.turn("play broken\nsay afterwards")
        assert settled_text(events).endswith("afterwards")
        logged = [json.loads(line) for line in daemon.log.splitlines()]
        (warning,) = [
            entry for entry in logged if entry.get("session_id") == talk.session_id and entry["level"] == "warn"
        ]
        assert "line" in warning["message"]


@pytest.mark.behaviour("wire.stdin.control-response-required")
async def test_every_request_of_the_agent_gets_one_response_or_is_withdrawn(tmp_path: Path) -> None:
    unknown = {"type": "control_request", "request_id": "odd", "request": {"subtype": "dance"}}
    asks = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "make"}, "tool_use_id": "toolu_w"}
    withdrawn = {"type": "control_request", "request_id": "gone", "request": asks}
    cancel = {"type": "control_cancel_request", "request_id": "gone"}
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        (daemon.work / "odd").write_text("".join(json.dumps(frame) + "\n" for frame in (unknown, withdrawn)))
        (daemon.work / "cancel").write_text(json.dumps(cancel) + "\n")
        talk = await obedient_talk(daemon, client)
        await talk.say("play odd\nwait cancelled\nplay cancel\ntool\ntool")
        await talk.asked()
        (daemon.work / "cancelled").touch()
        for allow in (True, False):
            await talk.answer(await talk.asked(), allow=allow)
        await talk.until(is_idle)
        requests = [
            frame["request_id"] for frame in lines_of(daemon, RecordKind.OUT) if frame["type"] == "control_request"
        ]
        answers = [frame for frame in lines_of(daemon, RecordKind.IN) if frame["type"] == "control_response"]
        counted = Counter(frame["response"]["request_id"] for frame in answers)
        assert counted == dict.fromkeys(set(requests) - {"gone"}, 1)
        assert len(requests) == 4
        (refusal,) = [frame["response"] for frame in answers if frame["response"]["request_id"] == "odd"]
        assert (refusal["subtype"], "dance" in refusal["error"]) == ("error", True)


@pytest.mark.behaviour("converse.message.attachments", "events.user-input")
async def test_attachments_reach_the_agent_with_name_type_and_bytes(tmp_path: Path) -> None:
    picture = AttachedFile("a.png", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(20))
    text = AttachedFile("b.txt", "text/plain", b"in words")
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await client.send(talk.session_id, "say seen", (picture, text))
        await talk.until(is_idle)
        (said,) = [frame["message"]["content"] for frame in lines_of(daemon, RecordKind.IN) if frame["type"] == "user"]
        (source,) = [block["source"] for block in said if "source" in block]
        assert (source["media_type"], base64.b64decode(source["data"])) == ("image/png", picture.data)
        words = "\n".join(block["text"] for block in said if block["type"] == "text")
        assert '<file name="a.png" type="image/png" />' in words
        assert '<file name="b.txt" type="text/plain">\nin words\n</file>' in words
        (kept,) = [event.user_input for event in talk.events if event.HasField("user_input")]
        assert (kept.content, list(kept.attachments)) == ("say seen", ["a.png", "b.txt"])


@pytest.mark.behaviour("launch.no-hooks-no-claude-md")
async def test_the_daemon_runs_no_hooks_of_a_project_and_opens_no_claude_md(tmp_path: Path) -> None:
    """The stand-in for the agent runs no hooks and reads no CLAUDE.md either, so whatever does is the daemon."""
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        rules = daemon.work / ".claude" / "settings.json"
        write_rules(rules, deny=["Bash(touch *)"])
        events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
        hook = [{"matcher": "*", "hooks": [{"type": "command", "command": f"touch {daemon.work}/hooked"}]}]
        rules.write_text(json.dumps(json.loads(rules.read_text()) | {"hooks": dict.fromkeys(events, hook)}))
        memory = daemon.work / "CLAUDE.md"
        memory.write_text("Remember the milk.\n")
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_NONBLOCK)
        try:
            assert libc.inotify_add_watch(watch, os.fsencode(memory), IN_OPEN) >= 0
            talk = await obedient_talk(daemon, client)
            await talk.turn("tool\nsay done")
            await client.close(talk.session_id)
            await becomes_true(lambda: "the session was closed" in daemon.log)
            with pytest.raises(BlockingIOError):  # nothing happened to the file
                os.read(watch, 4096)
            memory.read_text()
            assert os.read(watch, 4096), "and what happens is noticed"
        finally:
            os.close(watch)
        assert not (daemon.work / "hooked").exists()
        assert not (daemon.work / "ran.txt").exists(), "the rules of the same file apply"
