"""CompactSession from outside: what it answers, what it changes, and what it leaves as it was."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, Refused, open_client
from betcode.domain.runs.journal_record import RecordKind
from betcode.domain.values.identifiers import new_session_id
from betcode.v1 import agent_pb2 as v1
from support.daemon.compaction import Place, a_place, boundary_of, is_compacting, snapshots
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.runs import runs_in
from support.daemon.session import assert_whole, is_idle, kinds, settled_text
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("compaction")) as daemon:
        yield daemon


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with open_client(daemon.paths) as client:
        yield client


@pytest.fixture
async def place(daemon: Daemon, client: Client, tmp_path: Path) -> Place:
    """Two exchanges, the second with a context of 900 tokens."""
    return await a_place(daemon, client, tmp_path, "say one", "tokens 900\nsay and two")


def row_of(daemon: Daemon, session_id: str) -> tuple[int, int, int]:
    with closing(sqlite3.connect(daemon.paths.database)) as db:
        wanted = "SELECT compaction_sequence, context_tokens, updated_ns FROM sessions WHERE session_id = ?"
        row: tuple[int, int, int] = db.execute(wanted, (session_id,)).fetchone()
        return row


async def refused(client: Client, session_id: str) -> Refused:
    with pytest.raises(Refused) as caught:
        await client.compact(session_id)
    return caught.value


@pytest.mark.behaviour(
    "compaction.trigger.manual",
    "compaction.means",
    "compaction.messages-before",
    "compaction.messages-after",
    "compaction.tokens-before",
    "compaction.tokens-saved",
    "compaction.status",
    "compaction.agent-context",
)
async def test_compacting_an_idle_session_reports_the_saved_tokens(daemon: Daemon, place: Place) -> None:
    done = await place.talk.client.compact(place.talk.session_id)
    assert (done.messages_before, done.messages_after) == (4, 1)
    assert done.tokens_saved == 900 - 40
    events = await place.talk.until(is_idle)
    assert [v1.AgentStatus.Name(e.status_change.status) for e in events if is_compacting(e)][:1] == ["COMPACTING"]
    told = boundary_of(events)
    assert (told.trigger, told.tokens_after, told.messages_before, told.messages_after) == ("manual", 40, 4, 1)
    assert_whole(place.talk.events)
    sent = [json.loads(line) for run in runs_in(daemon.paths.runs) for line in run.lines(RecordKind.IN)]
    messages = [frame["message"]["content"] for frame in sent if frame["type"] == "user"]
    assert "/compact" in json.dumps(messages[-1]), "the agent itself is asked to"


@pytest.mark.behaviour("storage.compaction-column", "compaction.boundary", "compaction.recorded", "compaction.archive")
async def test_the_boundary_is_the_last_answer_that_ended_its_turn(daemon: Daemon, place: Place) -> None:
    before = row_of(daemon, place.talk.session_id)
    assert before[:2] == (0, 900)
    await place.talk.client.compact(place.talk.session_id)
    boundary, context_tokens, updated_ns = row_of(daemon, place.talk.session_id)
    answer = next(e for e in place.talk.events if e.text_delta.is_complete and e.text_delta.text.endswith("and two"))
    assert boundary == answer.sequence
    assert context_tokens == 40
    assert updated_ns > before[2]
    whole = await place.seen(whole=True)
    assert_whole(whole)
    assert whole[: len(place.talk.events)] == place.talk.events


@pytest.mark.behaviour("compaction.boundary")
async def test_an_answer_that_was_broken_off_is_no_boundary(place: Place) -> None:
    await place.talk.say("say never told\nwait never")
    await place.talk.until(lambda event: event.text_delta.text == "waiting")
    await place.talk.client.cancel(place.talk.session_id)
    await place.talk.until(is_idle)
    await place.talk.client.compact(place.talk.session_id)
    kept = await place.seen()
    assert settled_text(kept[:2]).endswith("and two")


@pytest.mark.behaviour(
    "compaction.keeps.system-init",
    "compaction.keeps.last-result",
    "compaction.drops.messages",
    "resume.before-compaction",
)
async def test_replay_starts_with_a_snapshot_and_continues_at_the_boundary(daemon: Daemon, place: Place) -> None:
    session_id = place.talk.session_id
    await place.talk.client.compact(session_id)
    boundary = row_of(daemon, session_id)[0]
    for after in (0, 1, boundary - 1):
        snapshot, first, *rest = await place.seen(after=after)
        info = snapshot.session_info
        assert (snapshot.sequence, info.is_compacted, info.compacted_before) == (0, True, boundary)
        assert (info.model, list(info.tools), info.working_directory) == ("obedient-1", ["Bash"], str(place.work))
        assert info.message_count == 4
        assert first.sequence == boundary
        assert "user_input" not in kinds(rest)
        assert next(e.usage.context_tokens for e in rest if e.HasField("usage")) == 900
    behind = await place.seen(after=boundary)
    assert not snapshots(behind)
    assert behind[0].sequence == boundary + 1


@pytest.mark.behaviour("resume.before-compaction")
async def test_paging_backwards_ends_at_the_boundary_and_reports_it(daemon: Daemon, place: Place) -> None:
    client, session_id = place.talk.client, place.talk.session_id
    await client.compact(session_id)
    boundary = row_of(daemon, session_id)[0]
    _, *kept = await place.seen()
    page = await client.read_events(session_id)
    assert [e.sequence for e in page.events] == [e.sequence for e in kept if e.sequence]
    assert (page.has_more, page.compacted_before) == (False, boundary)
    last = await client.read_events(session_id, limit_bytes=1)
    assert (last.has_more, last.compacted_before) == (True, 0)
    none = await client.read_events(session_id, before=boundary)
    assert (list(none.events), none.has_more, none.compacted_before) == ([], False, boundary)
    before = await client.read_events(session_id, before=boundary, include_compacted=True)
    assert [e.sequence for e in before.events] == list(range(1, boundary))
    assert (before.has_more, before.compacted_before) == (False, 0)


@pytest.mark.behaviour("resume.before-compaction", "reconnect.after-compaction")
async def test_every_way_of_reading_gives_the_snapshot_once(daemon: Daemon, place: Place) -> None:
    session_id = place.talk.session_id
    await place.talk.client.compact(session_id)
    newest = (await place.talk.summary()).last_sequence
    follow = [(e.sequence, e.session_info.is_compacted) for e in await place.seen(after=2)]
    async with daemon.agent_service() as service:
        resume = service.ResumeSession(v1.ResumeSessionRequest(session_id=session_id, from_sequence=2))
        seen = await _until(resume, newest)
        assert [(e.sequence, e.session_info.is_compacted) for e in seen] == follow
        converse = service.Converse()
        start = v1.StartConversation(session_id=session_id, from_sequence=2)
        await converse.write(v1.AgentRequest(start=start))
        attached, *seen = await _until(converse, newest)
        assert (attached.sequence, attached.session_info.is_resumed) == (0, True)
        assert [(e.sequence, e.session_info.is_compacted) for e in seen] == follow
        converse.cancel()
        whole = service.ResumeSession(v1.ResumeSessionRequest(session_id=session_id, include_compacted=True))
        assert_whole(await _until(whole, newest))


async def _until(call: object, newest: int) -> list[v1.AgentEvent]:
    events: list[v1.AgentEvent] = []
    with anyio.fail_after(PATIENCE_S):
        while not events or events[-1].sequence < newest:
            event = await call.read()  # type: ignore[attr-defined]
            assert isinstance(event, v1.AgentEvent)
            events.append(event)
    return events


async def test_a_live_follower_continues(place: Place) -> None:
    """The talk has read from the first event; the boundary passes behind it."""
    live = place.talk.client.follow(place.talk.session_id)
    seen: list[v1.AgentEvent] = []
    with anyio.fail_after(PATIENCE_S):
        while not seen or seen[-1].sequence < place.talk.position:
            seen.append(await anext(live))
        await place.talk.client.compact(place.talk.session_id)
        while not is_idle(seen[-1]) or seen[-1].sequence <= place.talk.position:
            seen.append(await anext(live))
    await live.aclose()
    assert not snapshots(seen)
    assert_whole([event for event in seen if event.sequence])


@pytest.mark.behaviour("compaction.permissions-anew")
async def test_what_was_allowed_before_is_asked_again(place: Place) -> None:
    talk = place.talk
    for _ in range(2):
        await talk.say("tool")
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(is_idle)
        await talk.client.compact(talk.session_id)
        await talk.until(is_idle)
    assert len((place.work / "ran.txt").read_text().splitlines()) == 2


@pytest.mark.behaviour("compaction.unknown-session")
async def test_an_unknown_session_is_not_found(client: Client) -> None:
    error = await refused(client, new_session_id())
    assert (error.status.name, error.code) == ("NOT_FOUND", "SESSION_NOT_FOUND")


@pytest.mark.behaviour(
    "compaction.active-refused",
    "error.code.session-active",
    "error.status.failed-precondition",
    "error.details.required-state",
)
async def test_a_session_at_work_is_refused_and_not_changed(place: Place) -> None:
    await place.talk.say("wait go")
    await place.talk.until(lambda event: event.text_delta.text == "waiting")
    before = await place.seen(whole=True)
    error = await refused(place.talk.client, place.talk.session_id)
    assert (error.status.name, error.code) == ("FAILED_PRECONDITION", "SESSION_ACTIVE")
    assert error.message == "Session has active turn"
    assert error.details["required_state"] == "idle"
    assert await place.seen(whole=True) == before
    place.let_go()
    await place.talk.until(is_idle)


@pytest.mark.behaviour("compaction.failure", "error.code.compaction-failed")
async def test_an_agent_that_fails_leaves_everything_as_it_was(daemon: Daemon, place: Place) -> None:
    place.direct("fail the model is tired")
    before = row_of(daemon, place.talk.session_id)[:2]
    error = await refused(place.talk.client, place.talk.session_id)
    assert (error.status.name, error.code) == ("INTERNAL", "COMPACTION_FAILED")
    assert (error.message, error.details["reason"]) == ("Session compaction failed", "the model is tired")
    events = await place.talk.until(is_idle)
    assert [e.error.code for e in events if e.HasField("error")] == ["COMPACTION_FAILED"]
    assert row_of(daemon, place.talk.session_id)[:2] == before
    seen = await place.seen()
    assert not snapshots(seen)
    assert kinds(seen).count("error") == 1  # and nobody tried again
    assert (await place.talk.summary()).message_count == 4
    assert settled_text(await place.talk.turn("say still here")) == "still here"


async def test_nothing_to_compact_is_no_failure(daemon: Daemon, place: Place, tmp_path: Path) -> None:
    client = place.talk.client
    fresh = await a_place(daemon, client, tmp_path / "fresh")
    done = await client.compact(fresh.talk.session_id)
    assert (done.messages_before, done.messages_after, done.tokens_saved) == (0, 0, 0)
    await client.compact(place.talk.session_id)
    newest = (await place.talk.summary_when(lambda one: one.status == "idle")).last_sequence
    again = await client.compact(place.talk.session_id)
    assert (again.messages_before, again.messages_after, again.tokens_saved) == (1, 1, 0)
    assert (await place.talk.summary()).last_sequence == newest


@pytest.mark.behaviour("compaction.means")
@pytest.mark.parametrize(("message", "trigger"), [("/compact", "manual"), ("say more\ncompact", "auto")])
async def test_a_compaction_that_the_daemon_did_not_ask_for_counts_too(
    daemon: Daemon, place: Place, message: str, trigger: str
) -> None:
    answer = next(e for e in place.talk.events if e.text_delta.is_complete and e.text_delta.text.endswith("and two"))
    told = boundary_of(await place.talk.turn(message))
    assert (told.trigger, told.compacted_before) == (trigger, answer.sequence)
    assert row_of(daemon, place.talk.session_id)[0] == answer.sequence
    assert snapshots(await place.seen())
