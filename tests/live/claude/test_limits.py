"""Usage limits and overload: what the real CLI says of them becomes what a session waits for, and until when."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from betcode.wording.pending import wait_text
from support.apis.messages.script import Failure, say
from support.daemon.session import is_idle, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [pytest.mark.anyio, needs_claude]


async def test_a_usage_limit_is_shown_until_its_reset_and_gone_with_the_next_answer(tmp_path: Path) -> None:
    resets_at = int(time.time()) + 7200
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(resets_at),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    refused = Failure(429, "rate_limit_error", "This would exceed your account's limit", headers=headers)
    async with claude_world(tmp_path, {"limit": [refused], "open": [say("Open again.")]}) as world:
        # Limits of an account are told to those who have one, and not to users of a key.
        account = {**world.environment, "CLAUDE_CODE_OAUTH_TOKEN": "not-a-token"}
        del account["ANTHROPIC_API_KEY"]
        talk = await replace(world, environment=account).session()
        events = await talk.turn("[[fake:limit]]")
        (notice,) = [event.notice for event in events if event.notice.details.get("limit")]
        at = datetime.fromtimestamp(resets_at, UTC).isoformat().replace("+00:00", "Z")
        assert (notice.details["limit"], notice.details["reset_at"]) == ("five_hour", at)
        (error,) = [event.error for event in events if event.HasField("error")]
        assert (error.code, error.details["reset_at"]) == ("RATE_LIMITED", at)
        for _ in range(2):
            summary = await talk.summary()
            assert (summary.status, summary.waiting_for) == ("idle", "limit")
            assert summary.waiting_until.seconds == resets_at
            assert "limit reached until" in wait_text(summary, datetime.now(UTC))
            await world.daemon.stop()  # its agent goes home
            await world.daemon.start()  # and the next daemon knows of the limit too
        assert settled_text(await talk.turn("[[fake:open]]")) == "Open again."
        assert (await talk.summary()).waiting_for == ""


async def test_what_the_api_is_waited_for_is_told_with_the_time_of_the_next_try(tmp_path: Path) -> None:
    better = say("Better now.")
    scripts = {str(status): [Failure(status, "some_error", times=1, then=better)] for status in (529, 429, 500)}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        for status, kind in ((529, "overload"), (429, "limit"), (500, "api")):
            await talk.say(f"[[fake:{status}]]")
            notice = (await talk.until("notice"))[-1]
            assert notice.notice.details["waiting_for"] == kind
            reset_at = datetime.fromisoformat(notice.notice.details["reset_at"])
            assert reset_at >= notice.timestamp.ToDatetime(UTC)
            assert settled_text(await talk.until(is_idle)) == "Better now."
        assert not any(event.HasField("error") for event in talk.events)
        assert (await talk.summary()).waiting_for == ""


async def test_a_retry_after_is_told_while_the_agent_waits_for_it_and_kept_to_itself_where_it_gives_up(
    tmp_path: Path,
) -> None:
    scripts = {
        name: [Failure(429, "rate_limit_error", headers={"retry-after": seconds})]
        for name, seconds in (("waits", "50"), ("gives-up", "7321"))
    }
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:waits]]")
        notice = (await talk.until("notice"))[-1]
        assert notice.notice.details["retry_delay_ms"] == "50000"
        summary = await talk.summary()
        assert summary.waiting_for == "limit"
        assert summary.waiting_until.ToNanoseconds() == notice.timestamp.ToNanoseconds() + 50 * 10**9
        other = await world.session()
        events = await other.turn("[[fake:gives-up]]")
        (error,) = [event.error for event in events if event.HasField("error")]
        assert (error.code, error.details.get("reset_at", "")) == ("RATE_LIMITED", "")
        assert not any(b"7321" in journal.read_bytes() for journal in tmp_path.glob("state/runs/*/journal-*"))
