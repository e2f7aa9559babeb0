"""What one batch of records makes of a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import anyio
import anyio.lowlevel
import pytest

from betcode.domain.agents.commands import AnswerPermission, Behaviour
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy, input_hash
from betcode.domain.ports import Dialogue
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.runs.state import CancelStep, RunState
from betcode.domain.store.changes import AddAudit, SavePrompt
from betcode.domain.store.rows import (
    CarriedState,
    InputKind,
    InputRow,
    NewSession,
    PromptKind,
    PromptRow,
    PromptState,
    RunRow,
    SessionState,
)
from betcode.domain.values.identifiers import RunId, RunKey, Seq, SessionId, SessionKey
from betcode.engine.core import carried_answers
from betcode.engine.core.ingest import RecordIngest
from betcode.engine.core.record_batch import PromptReview, ScreeningResult
from betcode.engine.core.state import Session
from betcode.engine.shell.translation import PromptReviewer, translate
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from _collections_abc import dict_values

    from betcode.engine.shell.run import AgentRun

pytestmark = pytest.mark.anyio

CONVERSATION = "5b1d6f0e-0000-4000-8000-000000000001"
RUN = RunRow(RunKey(1), SessionKey(1), RunId("r"), RunState.RUNNING, started_ns=1)
RESULT: Mapping[str, str] = {
    "cancelled": '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,'
    '"terminal_reason":"aborted_streaming"}',
    "end_turn": '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done"}',
}


REQUEST = (
    '{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","tool_name":"Bash",'
    '"input":{"command":"make"},"tool_use_id":"t-1"}}'
)
WITHDRAWN = '{"type":"control_cancel_request","request_id":"r-1"}'


def said(line: str, number: int) -> Record:
    return Record(RecordKind.OUT, 0, number, number, line.encode(), offset=number, end=number + 1)


def allowed(request: v1.PermissionRequest) -> ScreeningResult:
    entry = AuditEntry(1, "s", request.request_id, "Bash", "", AuditKind.DECISION, "allow", DecidedBy.RULE)
    return ScreeningResult(entry, AnswerPermission(request.request_id, Behaviour.ALLOW, request.input_json))


def denied(request: v1.PermissionRequest) -> ScreeningResult:
    return replace(allowed(request), answer=AnswerPermission(request.request_id, Behaviour.DENY, "{}", "by rule"))


def made(
    *,
    run: RunRow = RUN,
    inputs: Mapping[str, InputRow] | None = None,
    prompts: Mapping[str, PromptRow] | None = None,
    orphaned: Mapping[str, PromptRow] | None = None,
    next_seq: int = 1,
) -> RecordIngest:
    session = Session(SessionState(), run, inputs or {}, prompts or {}, orphaned or {})
    return RecordIngest(SessionKey(1), SessionId(CONVERSATION), session, Seq(next_seq), now_ns=2)


def new_dialogue() -> Dialogue:
    return ClaudeProvider().dialogue(NewSession(SessionId(CONVERSATION), "claude", "/"), CONVERSATION)


async def no_review(_shown: list[v1.AgentEvent]) -> PromptReview:
    return PromptReview()


async def take(intake: RecordIngest, dialogue: Dialogue, records: Sequence[Record], run: RunRow = RUN) -> RunRow:
    return intake.take(await translate(SessionId(CONVERSATION), dialogue, records, no_review), run)


async def taken(
    screen: Callable[[v1.PermissionRequest], ScreeningResult] | None,
    *lines: str,
    left: PromptRow | None = None,
    refused: str | None = None,
) -> RecordIngest:
    """`refused` is why the edit of the orphaned prompt cannot be reused."""

    async def review(shown: list[v1.AgentEvent]) -> PromptReview:
        screened = None if screen is None else screen(shown[0].permission_request)
        return PromptReview(screened, {left.request_id: refused} if left is not None and refused is not None else {})

    intake = made(orphaned={left.request_id: left} if left else {})
    records = [said(line, number) for number, line in enumerate(lines, 1)]
    intake.take(await translate(SessionId(CONVERSATION), new_dialogue(), records, review), RUN)
    return intake


def kinds(intake: RecordIngest) -> list[str | None]:
    return [event.WhichOneof("event") for event in intake.said]


class _CountedRows(dict[str, InputRow]):
    """Counts how often somebody looks through all of them."""

    scans = 0

    def values(self) -> "dict_values[str, InputRow]":
        self.scans += 1
        return super().values()


@pytest.mark.parametrize("open_messages", [10, 500])
async def test_records_of_one_batch_do_not_each_look_through_all_open_messages(open_messages: int) -> None:
    numbers = range(1, open_messages + 1)
    rows = _CountedRows(
        {
            f"m-{number}": InputRow(
                f"m-{number}", SessionKey(1), InputKind.MESSAGE, b"", created_ns=1, run=RunKey(1), number=number
            )
            for number in numbers
        }
    )
    dialogue = new_dialogue()
    intake = made(inputs=rows)
    given = [Record(RecordKind.IN, number, number, number, b"{}", offset=number, end=number + 1) for number in numbers]
    await take(intake, dialogue, given)
    assert rows.scans <= 3
    assert len(rows) == open_messages


async def test_the_event_loop_runs_between_the_prompts_of_one_batch() -> None:
    turns_at: list[int] = []
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    def seen(request: v1.PermissionRequest) -> ScreeningResult:
        turns_at.append(turns)
        return allowed(request)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count_turns)
        await taken(seen, *(REQUEST.replace("r-1", f"r-{number}") for number in range(20)))
        tasks.cancel_scope.cancel()
    assert len(set(turns_at)) == 20


async def test_what_is_decided_by_rule_is_no_prompt() -> None:
    intake = await taken(allowed, REQUEST)
    assert kinds(intake) == ["status_change", "tool_call_start", "status_change"]
    assert intake.said[-1].status_change.status == v1.EXECUTING_TOOL
    assert (intake.draft.prompts, intake.asked) == ({}, {})
    assert [screened.answer for screened in intake.decided] == [
        AnswerPermission("r-1", Behaviour.ALLOW, '{"command":"make"}')
    ]


async def test_what_was_never_shown_is_not_shown_to_be_withdrawn() -> None:
    assert "permission_resolved" in kinds(await taken(None, REQUEST, WITHDRAWN))
    assert "permission_resolved" not in kinds(await taken(allowed, REQUEST, WITHDRAWN))


async def test_what_was_answered_has_no_second_end_when_the_agent_takes_it_back() -> None:
    dialogue = new_dialogue()
    before = made()
    await take(before, dialogue, [said(REQUEST, 1)])
    after = made(next_seq=9)  # a person has answered
    await take(after, dialogue, [said(WITHDRAWN, 2)])
    assert "permission_resolved" not in kinds(after)
    (told,) = [event.notice for event in after.said if event.HasField("notice")]
    assert (told.kind, dict(told.details)) == (v1.NOTICE_KIND_RUN, {"request_id": "r-1"})
    assert "no effect" in told.message


def left_with(decision: str) -> PromptRow:
    """What an agent that is lost asked just so, and was not told."""
    row = PromptRow(
        "r-0", SessionKey(1), RunKey(7), PromptKind.PERMISSION, "Edit", '{"command":"make"}', b"", Seq(1), asked_ns=1
    )
    return replace(row, state=PromptState.ANSWERED, decision=decision, answered_ns=1, kept=CarriedState.UNSPENT)


@pytest.mark.parametrize(
    ("screen", "decision", "by_rule"),
    [
        (allowed, "DENY", False),
        (allowed, "ALLOW_ONCE", True),
        (denied, "DENY", True),
        (denied, "ALLOW_ONCE", True),
        (None, "ALLOW_ONCE", False),
    ],
)
async def test_a_denial_by_rule_or_by_a_person_is_stronger_than_what_allows(
    screen: Callable[[v1.PermissionRequest], ScreeningResult] | None, decision: str, by_rule: bool
) -> None:
    intake = await taken(screen, REQUEST.replace("Bash", "Edit"), left=left_with(decision))
    assert intake.draft.prompts == {}
    assert bool(intake.decided) == by_rule
    assert [row.decision for row in intake.given] == ([] if by_rule else [decision])


@pytest.mark.parametrize("refused", [carried_answers.EDIT_DENIED, carried_answers.EDIT_UNCLEAR, None])
async def test_an_edit_that_a_rule_denies_by_now_is_asked_about_again(refused: str | None) -> None:
    left = replace(left_with("ALLOW_WITH_EDIT"), updated_input='{"command":"other"}')
    intake = await taken(None, REQUEST.replace("Bash", "Edit"), left=left, refused=refused)
    assert [row.updated_input for row in intake.given] == ([left.updated_input] if refused is None else [])
    assert list(intake.draft.prompts) == ([] if refused is None else ["r-1"])
    asked = [event.permission_request for event in intake.said if event.HasField("permission_request")]
    assert [one.note for one in asked] == ([] if refused is None else [refused])


class Rules:
    """Screening whose rules deny an input, or cannot tell."""

    def __init__(self, denial: str | None) -> None:
        self._denial = denial

    async def screen(self, request: v1.PermissionRequest, _directory: str | None) -> ScreeningResult:
        return replace(allowed(request), answer=None)

    async def offer(self, request: v1.PermissionRequest) -> None:
        request.grant_offers.add(pattern="Edit")

    async def denial_to(self, _prompt: PromptRow, _input: str) -> str:
        if self._denial is None:
            raise FilesystemTimeout
        return self._denial


@pytest.mark.parametrize(
    ("denial", "refused"),
    [
        ("deny Edit(x)", {"r-0": carried_answers.EDIT_DENIED}),
        ("", {}),
        (None, {"r-0": carried_answers.EDIT_UNCLEAR}),
    ],
)
async def test_a_review_checks_edits_with_the_rules_of_now(denial: str | None, refused: dict[str, str]) -> None:
    async def peer(_session: str, request_id: str) -> str:
        return f"peer of {request_id}"

    left = replace(left_with("ALLOW_WITH_EDIT"), updated_input='{"command":"other"}')
    context, writer = SimpleNamespace(store=SimpleNamespace(peer_of_answer=peer)), SimpleNamespace(key=SessionKey(1))
    session = SimpleNamespace(
        screening=Rules(denial), orphaned={"r-0": left}, session_id="s", context=context, writer=writer
    )
    dialogue = SimpleNamespace(directory_of=lambda _tool_use_id: None)
    review = PromptReviewer(cast("AgentRun", SimpleNamespace(session=session, dialogue=dialogue, row=RUN)))
    (event,) = [
        event
        for event in new_dialogue().receive(said(REQUEST.replace("Bash", "Edit"), 1))
        if event.HasField("permission_request")
    ]
    done = await review([event])
    assert (done.refused_edits, done.peers) == (refused, {"r-0": "peer of r-0"})
    assert [offer.pattern for offer in event.permission_request.grant_offers] == ["Edit"]


async def test_what_a_person_put_in_place_of_the_input_runs_though_a_rule_allows_the_input() -> None:
    left = replace(left_with("ALLOW_WITH_EDIT"), updated_input='{"command":"other"}')
    intake = await taken(allowed, REQUEST.replace("Bash", "Edit"), left=left)
    assert (intake.decided, [row.updated_input for row in intake.given]) == ([], [left.updated_input])


async def test_what_a_rule_decides_first_leaves_no_allowance_for_the_second() -> None:
    intake = await taken(allowed, REQUEST, left=left_with("ALLOW_ONCE"))
    assert [row.kept for row in intake.draft.orphaned.values()] == [CarriedState.OFFERED]


async def test_a_prompt_that_is_taken_back_leaves_what_was_left_as_it_was() -> None:
    left = left_with("DENY")
    intake = await taken(None, REQUEST.replace("Bash", "Edit"), left=left)
    assert (len(intake.given), intake.draft.orphaned) == (1, {})
    intake.refuse("r-1")
    assert (intake.given, intake.draft.orphaned) == ([], {"r-0": left})
    assert not any(isinstance(change, SavePrompt) for change in intake.changes)
    assert [change.entry.outcome for change in intake.changes if isinstance(change, AddAudit)] == ["refused"]


async def test_a_prompt_that_is_open_under_an_id_stays_so_when_another_of_that_id_is_refused() -> None:
    dialogue = new_dialogue()
    waits = replace(left_with(""), request_id="r-1", state=PromptState.OPEN, kept=CarriedState.NO)
    intake = made(prompts={"r-1": waits})
    await take(intake, dialogue, [said(REQUEST, 1)])
    intake.refuse("r-1")
    assert intake.draft.prompts == {"r-1": waits}


async def test_a_request_that_is_refused_for_its_id_is_in_the_audit() -> None:
    intake = await taken(None, REQUEST)
    intake.refuse("r-1")
    [entry] = [change.entry for change in intake.changes if isinstance(change, AddAudit)]
    assert (entry.request_id, entry.tool_name, entry.outcome) == ("r-1", "Bash", "refused")
    assert (entry.input_sha256, entry.note) == (input_hash('{"command":"make"}'), "this request id was used before")


@pytest.mark.parametrize("screen", [None, allowed])
async def test_an_id_that_is_used_again_at_once_stands_for_nothing(
    screen: Callable[[v1.PermissionRequest], ScreeningResult] | None,
) -> None:
    """What was decided or shown is about the first, so the second is refused and nothing is said to it."""
    intake = await taken(screen, REQUEST, WITHDRAWN, REQUEST.replace("make", "rm -rf /"))
    assert (intake.asked_again, intake.decided, intake.draft.prompts) == (["r-1"], [], {})
    shown = [event.permission_request.input_json for event in intake.said if event.HasField("permission_request")]
    assert shown == (['{"command":"make"}'] if screen is None else [])
    entry = [change.entry for change in intake.changes if isinstance(change, AddAudit)][-1]
    assert (entry.outcome, entry.input_sha256) == ("refused", input_hash('{"command":"rm -rf /"}'))


async def test_a_cancelled_turn_is_seen_behind_the_one_that_came_after_it() -> None:
    dialogue = new_dialogue()
    run = RunRow(
        RunKey(1), SessionKey(1), RunId("r"), RunState.RUNNING, started_ns=1, cancel_step=CancelStep.INTERRUPTED
    )
    intake = made(run=run)
    after = await take(intake, dialogue, [said(RESULT["cancelled"], 1), said(RESULT["end_turn"], 2)], run)
    ends = [event.turn_complete.stop_reason for event in intake.said if event.HasField("turn_complete")]
    assert ends == ["cancelled", "end_turn"]
    assert (intake.turn_completed, intake.turn_cancelled) == (True, True)
    assert after.cancel_step is CancelStep.NONE


def told(line: str, number: int) -> Record:
    return Record(RecordKind.IN, number, number, number, line.encode(), offset=number, end=number + 1)


MESSAGE = "5b1d6f0e-0000-4000-8000-00000000000a"
LET_GO = (
    '{"type":"control_request","request_id":"w-1","request":{"subtype":"cancel_async_message","message_uuid":"'
    + MESSAGE
    + '"}}'
)
CANCELLED = '{"type":"command_lifecycle","command_uuid":"' + MESSAGE + '","state":"cancelled"}'
DONE = '{"type":"control_response","response":{"subtype":"success","request_id":"w-1","response":{"cancelled":true}}}'


@pytest.mark.parametrize("answers", [(CANCELLED, DONE), (DONE, CANCELLED), (DONE,)], ids=["usual", "turned", "short"])
async def test_an_idle_agent_that_lets_go_of_its_only_message_leaves_the_session_idle(answers: tuple[str, ...]) -> None:
    dialogue = new_dialogue()
    row = InputRow(MESSAGE, SessionKey(1), InputKind.MESSAGE, b"", run=RunKey(1), number=1)
    intake = made(inputs={MESSAGE: row})
    message = '{"type":"user","message":{"role":"user","content":"hello"},"uuid":"' + MESSAGE + '"}'
    records = [told(message, 1), told(LET_GO, 2), *(said(line, 3 + n) for n, line in enumerate(answers))]
    await take(intake, dialogue, records)
    delivered, cancelled, idle = intake.said
    assert delivered.message_state.state == v1.MESSAGE_STATE_DELIVERED
    assert (cancelled.message_state.state, cancelled.message_state.reason) == (
        v1.MESSAGE_STATE_CANCELLED,
        "withdrawn",
    )
    assert idle.status_change.status == v1.IDLE
    assert not intake.inputs
    assert not dialogue.view.withdrawing


@pytest.mark.parametrize("subtype", ["success", "error"])
async def test_an_agent_that_does_not_let_go_still_has_the_message(subtype: str) -> None:
    dialogue = new_dialogue()
    message = '{"type":"user","message":{"role":"user","content":"hello"},"uuid":"' + MESSAGE + '"}'
    for record in (told(message, 1), told(LET_GO, 2)):
        dialogue.receive(record)
    assert dialogue.view.withdrawing == {MESSAGE}
    refused = DONE.replace("true", "false").replace("success", subtype)
    assert dialogue.receive(said(refused, 3)) == []
    assert not dialogue.view.withdrawing
    assert dialogue.view.turn_open


async def test_an_agent_that_has_begun_did_not_let_go_whatever_it_says() -> None:
    dialogue = new_dialogue()
    message = '{"type":"user","message":{"role":"user","content":"hello"},"uuid":"' + MESSAGE + '"}'
    for record in (told(message, 1), told(LET_GO, 2), said(CANCELLED.replace("cancelled", "started"), 3)):
        dialogue.receive(record)
    assert dialogue.receive(said(DONE, 4)) == []
    assert dialogue.view.turn_open
