"""What an agent cannot do is refused with a sentence, or said where the session goes on without it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.config.paths import choose_paths
from betcode.domain.agents.commands import AttachedFile, SendMessage
from betcode.domain.errors import AgentCannot, BetcodeError, CompactionUnsupported, ForkRefused
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.sessions.budget import Amounts, OnReached, set_to
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import MessageId, Seq, time_ordered_uuid
from betcode.engine import PermissionAnswer
from betcode.v1 import agent_pb2 as v1
from support.engine.engine import ME, EngineSession, a_session, engine
from support.providers.no_capabilities import Unable
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def unable(root: Path) -> AsyncIterator[EngineSession]:
    paths = choose_paths({}, state_dir=root / "state", config_dir=root / "config")
    async with engine(root, CrashPolicy(), paths=paths, kind=Unable) as here:
        yield here
        await here.supervisor.close(here.session)


def is_idle(event: v1.AgentEvent) -> bool:
    return event.status_change.status == v1.IDLE


async def notices(here: EngineSession, kind: v1.NoticeKind.ValueType) -> list[str]:
    page = await here.supervisor.watching.before(here.session, Seq(0), 0, include_compacted=True)
    found = map(v1.AgentEvent.FromString, page.page.events)
    return [event.notice.message for event in found if event.HasField("notice") and event.notice.kind == kind]


async def test_what_is_asked_of_a_new_session_is_refused_before_it_is_made(tmp_path: Path) -> None:
    async with unable(tmp_path) as here:

        async def refused(new: NewSession) -> str:
            with pytest.raises(AgentCannot) as cannot:
                await here.supervisor.create(new)
            return cannot.value.message

        new = a_session(here.work)
        assert (
            await refused(replace(new, plan_mode=True))
            == "The agent claude has no plan mode: start the session without it"
        )
        assert "does not accept a model from betcode: omit it" in await refused(replace(new, model="opus"))
        assert (await here.store.find_session(new.session_id)) is None


async def test_fork_compaction_and_files_are_refused_and_nothing_is_sent(tmp_path: Path) -> None:
    async with unable(tmp_path) as here:
        await here.say("hello")
        await here.until(is_idle)
        with pytest.raises(ForkRefused, match="cannot be forked: start a new session"):
            await here.supervisor.fork(here.session, Seq(0), "")
        with pytest.raises(CompactionUnsupported, match="does not support compaction"):
            await here.supervisor.compact(here.session)
        file = AttachedFile("notes.txt", "text/plain", b"some")
        message = SendMessage(MessageId(time_ordered_uuid()), "read this", (file,))
        with pytest.raises(
            AgentCannot, match="does not accept attachments: write the paths of the files in the message"
        ):
            await here.supervisor.submit(here.session, message, ME)
        assert (await here.told()).message_count == 2


async def test_an_edited_input_is_refused_and_the_prompt_stays_open(tmp_path: Path) -> None:
    async with unable(tmp_path) as here:
        await here.say("tool")
        request = await here.asked()
        edited = PermissionAnswer(request.request_id, v1.ALLOW_WITH_EDIT, updated_input='{"command": "true"}')
        with pytest.raises(AgentCannot, match="allow the call as it is, or deny it") as cannot:
            await here.supervisor.answers.permission(edited, ME)
        assert cannot.value.details["request_id"] == request.request_id
        assert len(await here.supervisor.pending(here.session)) == 1
        await here.answer(request.request_id, v1.DENY, "not that one")
        await here.until(is_idle)
        [said] = await notices(here, v1.NOTICE_KIND_AGENT)
        assert said.startswith("Denied. claude does not accept a reason")


async def test_a_limit_that_nothing_is_counted_against_is_said_to_be_one(tmp_path: Path) -> None:
    async with unable(tmp_path) as here:
        budget = set_to(Amounts(cost_usd=5.0, tokens=10, turns=3), OnReached.REFUSE)
        limited = replace(a_session(here.work), budget=budget)
        one = EngineSession(here.supervisor, here.store, await here.supervisor.create(limited), here.work)
        [said] = await notices(one, v1.NOTICE_KIND_BUDGET)
        assert said.startswith("The cost and tokens limit has no effect")
        assert await here.supervisor.create(limited) == one.session  # asked again, it is the same one
        await here.supervisor.set_budget(here.session, set_to(Amounts(turns=3), OnReached.REFUSE))
        await here.supervisor.set_budget(here.session, set_to(Amounts(cost_usd=1), OnReached.REFUSE))
        told = await notices(here, v1.NOTICE_KIND_BUDGET)
        assert [each.startswith("The cost limit has no effect") for each in told] == [False, False, True]


@pytest.mark.parametrize("when", ["before the agent starts", "while it is idle"])
async def test_rules_that_the_agent_does_not_let_us_hold_are_named_once(tmp_path: Path, when: str) -> None:
    rules = tmp_path / "config" / "settings.json"
    async with unable(tmp_path) as here:
        if when != "before the agent starts":
            await here.say("hello")
            await here.until(is_idle)
        write_rules(rules, deny=["Read(./secret.txt)"])
        if when == "before the agent starts":
            await here.say("hello")
        found = await here.until(lambda event: event.notice.kind == v1.NOTICE_KIND_DEGRADED)
        assert "only apply to calls that the agent submits for approval" in found[-1].notice.message
        assert found[-1].notice.message.endswith("submits only shell commands")
        await here.say("hello again")
        await here.until(is_idle)
        assert len(await notices(here, v1.NOTICE_KIND_DEGRADED)) == 1


async def test_a_refusal_has_a_code_that_says_so(tmp_path: Path) -> None:
    cannot: BetcodeError = AgentCannot("x", "attachments", "has none")
    assert (cannot.code, cannot.details) == ("FEATURE_NOT_AVAILABLE", {"provider": "x", "capability": "attachments"})
