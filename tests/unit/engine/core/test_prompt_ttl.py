"""When prompts expire, when they are examined first, and what extends them."""

from collections.abc import Sequence

import pytest

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.permissions.notification import NotificationReason
from betcode.domain.permissions.prompt_lifetime import ExtendOn, Lifetime
from betcode.domain.store.changes import AddInput, Change, SavePrompt
from betcode.domain.store.rows import InputKind, InputRow, PromptState
from betcode.engine.core.cancel import withdraw_messages
from betcode.engine.core.decision import Advance, Notify
from betcode.engine.core.prompt_ttl import (
    ExpiryFacts,
    expire,
    expiry_message,
    expiry_shown,
    extends,
    first_check_ns,
    lifetime_of,
    with_expiry,
)
from betcode.v1 import agent_pb2 as v1
from support.engine.core_values import NOW_NS, SESSION, audited, brief, message, other, prompt, saved_prompts

S = 1_000_000_000
LIFETIME = Lifetime(60 * S, (10 * S,))
NEW = SavePrompt(prompt())
EXPIRES_NS = NOW_NS + 60 * S


def test_seconds_become_nanoseconds() -> None:
    assert lifetime_of(60.0, (10.0,)) == LIFETIME
    assert lifetime_of(0.5, ()) == Lifetime(S // 2)


@pytest.mark.parametrize(
    ("changes", "opened"),
    [
        ([NEW], ["p1"]),
        ([NEW, SavePrompt(prompt("p2"))], ["p1", "p2"]),
        ([SavePrompt(prompt(expires_ns=5))], []),
        ([SavePrompt(prompt(state=PromptState.ANSWERED))], []),
        (list(withdraw_messages([message("m")]).changes), []),
    ],
)
def test_only_prompts_that_open_get_an_expiry_time(changes: Sequence[Change], opened: list[str]) -> None:
    after, rows = with_expiry(changes, LIFETIME, NOW_NS, is_seen=True)
    assert list(rows) == opened
    assert all(row.expires_ns == EXPIRES_NS and row.forwarded_ns == NOW_NS for row in rows.values())
    assert len(after) == len(changes)
    unchanged = [change for change in changes if change in after]
    assert len(unchanged) == len(changes) - len(opened)


def test_a_prompt_that_nobody_sees_was_not_forwarded() -> None:
    _, rows = with_expiry([NEW], LIFETIME, NOW_NS, is_seen=False)
    assert rows["p1"].forwarded_ns == 0


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (v1.AgentEvent(permission_request=v1.PermissionRequest(request_id="p1")), EXPIRES_NS),
        (v1.AgentEvent(permission_request=v1.PermissionRequest(request_id="p2")), 0),
        (v1.AgentEvent(user_question=v1.UserQuestion(group_id="p1")), EXPIRES_NS),
        (v1.AgentEvent(user_question=v1.UserQuestion(group_id="p2", question_id="p1")), 0),
        (v1.AgentEvent(permission_resolved=v1.PermissionResolved(request_id="p1")), 0),
    ],
)
def test_the_events_that_show_a_prompt_show_when_it_expires(event: v1.AgentEvent, shown: int) -> None:
    assert expiry_shown(event, {"p1": prompt(expires_ns=EXPIRES_NS)}) == shown


@pytest.mark.parametrize(
    ("forwarded_ns", "notifies", "first_ns"),
    [(0, True, 0), (0, False, NOW_NS + 10 * S), (5, True, NOW_NS + 10 * S)],
)
def test_a_prompt_that_nobody_sees_is_examined_at_once(forwarded_ns: int, notifies: bool, first_ns: int) -> None:
    row = prompt(expires_ns=EXPIRES_NS, forwarded_ns=forwarded_ns)
    assert first_check_ns(row, LIFETIME, notifies=notifies) == first_ns


@pytest.mark.parametrize(
    ("act", "on_activity", "only_human", "extended"),
    [
        (ExtendOn.HUMAN, True, True, True),
        (ExtendOn.HUMAN, True, False, True),
        (ExtendOn.ACTIVITY, True, True, False),
        (ExtendOn.ACTIVITY, True, False, True),
        (ExtendOn.HUMAN, False, False, False),
        (ExtendOn.ACTIVITY, False, False, False),
    ],
)
def test_which_acts_extend_prompts(act: ExtendOn, on_activity: bool, only_human: bool, extended: bool) -> None:
    assert extends(act, on_activity=on_activity, only_human=only_human) is extended


@pytest.mark.parametrize("denial", [None, other(InputKind.ANSWER)])
def test_a_prompt_that_nobody_answered_is_denied_where_an_agent_waits(denial: InputRow | None) -> None:
    done = expire(SESSION, ExpiryFacts(prompt(), "1 h", NOW_NS + 5, "n", denial), NOW_NS)
    row = saved_prompts(done.changes)["p1"]
    assert (row.state, row.answered_ns, row.message) == (PromptState.EXPIRED, NOW_NS + 5, expiry_message("1 h"))
    assert brief(done.events) == ["expired p1", "error PERMISSION_TIMEOUT"]
    assert audited(done.changes) == [("p1", "expired", DecidedBy.EXPIRY)]
    assert done.changes[2:] == (() if denial is None else (AddInput(denial),))
    assert done.effects == (Advance(), Notify(row, NotificationReason.EXPIRED, "n"))
