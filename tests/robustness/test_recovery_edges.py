"""Agents that die very early, cannot start at all, or were in the middle of a word."""

from pathlib import Path

import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, running_daemon
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio

# Dies once with a message in hand, without a transcript, and says of a conversation that it does not know it.
# It waits for the message: an agent that dies before that has begun with nothing.
EARLY = """#!/bin/sh
case "$*" in *--resume=*)
    echo '{{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["{complaint}"]}}'
    exit 1
esac
if [ ! -e died ]; then
    touch died
    echo '{{"type":"system","subtype":"init","cwd":"/","model":"m","tools":[]}}'
    while read -r line; do case "$line" in *'"type": "user"'*) break; esac; done
    kill -9 $$
fi
exec {agent} "$@"
"""


def crashes(events: list[v1.AgentEvent]) -> list[v1.ErrorEvent]:
    return [event.error for event in events if event.HasField("error")]


def early_agent(root: Path, complaint: str) -> Path:
    program = root / "claude"
    program.write_text(EARLY.format(complaint=complaint, agent=agent_program(root / "program")))
    program.chmod(0o755)
    return program


async def talk_with(daemon: Daemon, client: Client, directory: Path | None = None) -> Talk:
    new = NewConversation(str(directory or daemon.work), provider="claude", environment=daemon.environment)
    return Talk(client, await client.start_session(new))


async def test_an_agent_killed_before_it_wrote_its_transcript_is_followed_by_a_new_conversation(tmp_path: Path) -> None:
    program = early_agent(tmp_path, "No conversation found with session ID: s")
    async with running_daemon(tmp_path, claude_bin=program) as daemon, open_client(daemon.paths) as client:
        talk = await talk_with(daemon, client)
        message = await talk.say("argv")
        events = await talk.until(is_idle)
        assert [error.is_fatal for error in crashes(events)] == [False, False]
        assert f"--session-id={talk.session_id}" in settled_text(events)
        assert states_of(talk.events, message.message_id).count("CONSUMED") == 1
        assert kinds(events).count("turn_complete") == 1
        assert_whole(talk.events)


async def test_an_agent_that_says_it_cannot_begin_is_not_tried_again(tmp_path: Path) -> None:
    program = early_agent(tmp_path, "Your plan does not allow this")
    async with running_daemon(tmp_path, claude_bin=program) as daemon, open_client(daemon.paths) as client:
        talk = await talk_with(daemon, client)
        message = await talk.say("say hello")
        first, last = crashes(await talk.until(is_idle))
        assert (first.is_fatal, last.is_fatal) == (False, True)
        assert "Your plan does not allow this" in last.message
        assert "run `claude` in the same directory" in last.details["advice"]
        assert states_of(talk.events, message.message_id)[-1] == "UNKNOWN", "the first agent had begun with it"


@pytest.mark.behaviour("events.status.error")
async def test_a_working_directory_that_is_gone_is_said_and_not_tried_again(daemon: Daemon, client: Client) -> None:
    directory = daemon.root / "fleeting"
    directory.mkdir()
    talk = await talk_with(daemon, client, directory)
    directory.rmdir()
    await talk.say("say hello")
    events = await talk.until(is_idle)
    (error,) = crashes(events)
    assert (error.code, error.is_fatal) == ("AGENT_UNAVAILABLE", True)
    assert "working directory" in error.details["advice"]
    assert [event.status_change.message for event in events if event.status_change.status == v1.ERROR] == ["CRASHED"]
    directory.mkdir()
    assert settled_text(await talk.turn("say hello again")) == "hello again"


async def test_words_that_were_cut_off_are_taken_back_before_they_are_said_again(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("say once\nstumble stone")
    events = await talk.until(is_idle)
    before = events[: kinds(events).index("error")]
    cut_off = {event.text_delta.message_id for event in before if event.HasField("text_delta")}
    assert [event.text_delta.message_id for event in before if event.text_delta.is_complete] == list(cut_off)
    assert settled_text(events) == "onceup again"
