"""A decision is committed, then its effects are performed in order; without a commit nothing is done."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from betcode.domain.errors import StorageDegraded
from betcode.domain.permissions.notification import NotificationReason
from betcode.domain.store.changes import AddInput
from betcode.domain.store.rows import NewSession
from betcode.engine.core.decision import (
    Advance,
    AllowStart,
    CloseInputLock,
    Decision,
    DetachRun,
    Effect,
    EscalateCancel,
    ForbidStart,
    Notify,
    RefuseInputs,
    ReleaseSlot,
    RetryAfter,
    RetryNow,
    Settle,
    StopRetry,
    UseMetadata,
)
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell.effects import act
from betcode.engine.shell.session import LiveSession
from support.engine.core_values import SESSION, message, prompt, run

pytestmark = pytest.mark.anyio

ROW = run().row


class Calls:
    """Notes the name of everything that is called on it."""

    def __init__(self, made: list[str], name: str = "") -> None:
        self._made, self._name = made, name

    def __getattr__(self, name: str) -> "Calls":
        return Calls(self._made, f"{self._name}.{name}".lstrip("."))

    def __call__(self, *_args: object) -> bool:
        self._made.append(self._name)
        return True


def fake(made: list[str], **more: Any) -> LiveSession:
    """A session that notes what is done with it."""
    calls = Calls(made)
    parts: dict[str, Any] = {
        name: getattr(calls, name) for name in ("go_on", "settle", "recovery", "input_lock", "run", "context")
    }
    return cast("LiveSession", SimpleNamespace(**{**parts, "may_start": True, "session_id": SESSION, **more}))


@pytest.mark.parametrize(
    ("effect", "calls"),
    [
        (Advance(), ["go_on"]),
        (Settle(), ["settle"]),
        (ReleaseSlot(), ["context.slots.give_back"]),
        (RefuseInputs(), ["run.refuse_inputs"]),
        (EscalateCancel(), ["run.escalation.begin"]),
        (EscalateCancel(insists=True), ["run.escalation.insist"]),
        (RetryAfter(ROW, 2.0), ["recovery.back_off"]),
        (RetryNow(), ["recovery.hurry"]),
        (StopRetry(), ["recovery.over"]),
        (CloseInputLock(), ["input_lock.close"]),
    ],
)
def test_each_effect_is_one_call(effect: Effect, calls: list[str]) -> None:
    made: list[str] = []
    act(fake(made), effect)
    assert made == calls


def test_effects_that_change_what_the_session_holds() -> None:
    session = fake([], writer=SimpleNamespace(new=NewSession(SESSION, "claude", "/work")))
    for effect in (ForbidStart(), DetachRun(), UseMetadata({"a": "b"})):
        act(session, effect)
    assert (session.may_start, session.run) == (False, None)
    act(session, AllowStart())
    assert session.may_start
    assert session.writer.new == replace(NewSession(SESSION, "claude", "/work"), metadata={"a": "b"})


@pytest.mark.parametrize("effect", [RefuseInputs(), EscalateCancel()])
def test_without_an_agent_there_is_nothing_to_end(effect: Effect) -> None:
    made: list[str] = []
    act(fake(made, run=None), effect)
    assert made == []


def test_a_notification_names_the_prompt() -> None:
    sent: list[Any] = []
    notifier = SimpleNamespace(wants=lambda _: True, notify=sent.append)
    writer = SimpleNamespace(new=NewSession(SESSION, "claude", "/work"), state=SimpleNamespace(name="n"))
    session = fake([], context=SimpleNamespace(notifier=notifier), writer=writer)
    act(session, Notify(prompt("p"), NotificationReason.EXPIRED, "id"))
    assert [(each.request_id, each.notification_id, each.occasion) for each in sent] == [
        ("p", "id", NotificationReason.EXPIRED)
    ]


class Writer:
    """Notes what is committed, or has no space."""

    session = None

    def __init__(self, made: list[str], *, full: bool = False) -> None:
        self._made, self._full = made, full

    async def write(self, _said: Sequence[Any], changes: Sequence[Any], **_fields: object) -> None:
        if self._full:
            raise StorageDegraded("full")
        self._made.append(f"write {len(changes)}")

    async def write_surely(self, _said: Sequence[Any], changes: Sequence[Any], **_fields: object) -> None:
        self._made.append(f"write surely {len(changes)}")


class Shell(LiveSession):
    """Only what performing a decision needs."""

    def __init__(self, made: list[str], *, full: bool = False) -> None:
        self.lock = anyio.Lock()
        self.made = made
        self.writer = cast("Any", Writer(made, full=full))
        self.writer.new = NewSession(SESSION, "claude", "/work")
        self.context = cast("Any", SimpleNamespace(faults=lambda point, _session: made.append(point.value)))

    def go_on(self) -> None:
        assert self.lock.locked()
        self.made.append("go on")


DECISION = Decision(changes=(AddInput(message("m")),), effects=(Advance(), Advance()))


async def test_effects_follow_the_commit_under_the_same_lock() -> None:
    made: list[str] = []
    shell = Shell(made)
    await shell.perform(lambda _: DECISION, surely=True)
    assert made == ["write surely 1", "go on", "go on"]
    assert not shell.lock.locked()


async def test_the_fault_point_is_between_the_commit_and_the_effects() -> None:
    made: list[str] = []
    shell = Shell(made)
    async with shell.lock:
        await shell.perform_locked(DECISION, reached=FaultPoint.AFTER_ANSWER)
    assert made == ["write 1", FaultPoint.AFTER_ANSWER.value, "go on", "go on"]


async def test_what_is_not_committed_has_no_effect() -> None:
    made: list[str] = []
    shell = Shell(made, full=True)
    async with shell.lock:
        with pytest.raises(StorageDegraded):
            await shell.perform_locked(DECISION)
    assert made == []
