"""Which turns of a transcript were made without betcode."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from betcode.domain.sessions.outside_turns import LastRun, OutsideTurns
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.claude.state import VERSION, State, carried_over, dump, load
from betcode.providers.claude.transcripts import transcript
from betcode.providers.claude.transcripts.outside_turns import MOST_TURNS
from betcode.providers.claude.transcripts.transcript import Window, find_outside, find_transcript

CONVERSATION = "78057445-9f36-4775-91fa-712a3c399fc5"
SECOND = 1_000_000_000
STARTED, ENDED, NOW = 1_000 * SECOND, 2_000 * SECOND, 10_000 * SECOND
SESSION = NewSession(SessionId(CONVERSATION), "claude", "/work")


def line(kind: str, at_s: float, content: object, *, uuid: str = "", entrypoint: str = "cli", **more: object) -> bytes:
    stop_reason = more.pop("stop_reason", None)
    message = {"role": kind, "id": f"msg-{at_s}", "content": content, "stop_reason": stop_reason}
    fields = {
        "parentUuid": None,
        "isSidechain": False,
        "type": kind,
        "message": message,
        "uuid": uuid or f"{kind}-{at_s}",
        "timestamp": datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "entrypoint": entrypoint,
        **more,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def prompt(at_s: float, text: object, **more: object) -> bytes:
    return line("user", at_s, text, **{"promptSource": "typed", "turnOrigin": "human"} | more)  # type: ignore[arg-type]


def answer(at_s: float, text: str = "Yes.", **more: object) -> bytes:
    return line("assistant", at_s, [{"type": "text", "text": text}], **more)  # type: ignore[arg-type]


OWN = line("user", 1100, "ours", uuid="own", entrypoint="sdk-cli", promptSource="sdk", turnOrigin="sdk")
OWN_ANSWER = answer(1101, entrypoint="sdk-cli")
WINDOW = Window(STARTED, ENDED, frozenset({"own"}), NOW)


def texts(*lines: bytes, window: Window = WINDOW) -> list[str]:
    return [turn.text for turn in find_outside(lines, window).turns]


@pytest.mark.parametrize(
    "outside",
    [
        prompt(3000, "typed"),
        prompt(3000, "typed", entrypoint="sdk-cli", promptSource="sdk", turnOrigin="sdk"),
        prompt(3000, [{"type": "text", "text": "typed"}]),
        prompt(1500, "typed"),  # in the interactive program, while our agent was idle
    ],
)
def test_a_prompt_of_another_program_is_outside(outside: bytes) -> None:
    assert texts(OWN, OWN_ANSWER, outside, answer(3001)) == ["typed"]


@pytest.mark.parametrize(
    "other",
    [
        prompt(1500, "by our agent", entrypoint="sdk-cli"),
        prompt(900, "known before"),
        prompt(3000, "no time", timestamp="yesterday"),
        prompt(3000, "far off", timestamp="9999-12-31T23:59:59.999Z"),
        prompt(3000, "before all time", timestamp="0001-01-01T00:00:00+23:59"),
        prompt(3000, "no zone", timestamp="2026-11-16T14:41:33.202"),
        prompt(3000, "ours", uuid="own"),
        prompt(3000, "meta", isMeta=True),
        prompt(3000, "of a subagent", isSidechain=True),
        prompt(3000, "a summary", isCompactSummary=True),
        prompt(3000, "shown only", isVisibleInTranscriptOnly=True),
        prompt(3000, "/cost"),
        prompt(3000, " \n"),
        prompt(3000, "by the program", promptSource="system"),
        prompt(3000, "scheduled", turnOrigin="scheduled"),
        prompt(3000, "a task has ended", turnOrigin="task_notification"),
        line("user", 3000, "<command-name>/usage</command-name>"),
        line("user", 3000, "<bash-input>echo hello</bash-input>"),
        line("user", 3000, "<bash-stdout>hello</bash-stdout>", turnOrigin="human"),
        line("user", 3000, "[Request interrupted by user]"),
        line("user", 3000, "Continue from where you left off.", isMeta=True),
        line("user", 3000, [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]),
        answer(3000, "No response requested."),
        line("attachment", 3000, "queued", promptSource="typed"),
        b"",
        b"null",
        b"[1]",
        b'{"type":"user"',
        b'{"type":"user","message":7}',
        b'{"type":"user","uuid":["own"]}',
        b'{"type":"user","message":{"content":[{"type":"text","text":1}]}}',
        b'{"type":"user","message":{"content":"\xff\xfe"}}',
        b'{"type":"user","message":' + b"[" * 100_000,
    ],
)
def test_everything_else_is_not(other: bytes) -> None:
    assert texts(OWN, OWN_ANSWER, other, answer(3001)) == []


def test_nothing_before_our_first_message_is_outside() -> None:
    """A fork begins with lines of another session's conversation."""
    assert texts(prompt(3000, "copied"), answer(3001), prompt(3002, "copied, too"), answer(3003)) == []
    assert texts(prompt(3000, "copied"), answer(3001), OWN, prompt(3002, "typed"), answer(3003)) == ["typed"]


def test_own_and_outside_turns_are_told_apart() -> None:
    found = find_outside(
        [
            OWN,
            prompt(1200, "first"),
            OWN_ANSWER,
            line("assistant", 1201, [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
            line("user", 1202, [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]),
            answer(1203),
            line("user", 1204, "<bash-input>ls</bash-input>"),
            answer(1205, "to the shell"),
            prompt(3000, "second"),
            answer(3001, "No response requested."),
            line("user", 3002, "[Request interrupted by user]"),
        ],
        WINDOW,
    )
    first, second = found.turns
    assert [at // SECOND for at, _ in first.lines] == [1201, 1202, 1203]
    assert (first.last_uuid, first.was_interrupted) == ("assistant-1203", False)
    assert (second.lines, second.was_interrupted) == ([], True)
    assert found.until_ns == NOW


@pytest.mark.parametrize(
    "rest",
    [
        [],
        [answer(9991, "Wait.", stop_reason="tool_use")],
        [line("assistant", 9991, [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}])],
        [line("user", 9991, [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}])],
    ],
)
def test_a_turn_that_still_runs_is_left_for_later(rest: list[bytes]) -> None:
    lines = [OWN, prompt(3000, "done"), answer(3001), prompt(9990, "runs"), *rest]
    found = find_outside(lines, WINDOW)
    assert ([turn.text for turn in found.turns], found.until_ns) == (["done"], 9990 * SECOND - 1)
    later = Window(found.until_ns, ENDED, WINDOW.own_messages, NOW)
    assert texts(*lines, answer(9992), window=later) == ["runs"]
    much_later = Window(found.until_ns, ENDED, WINDOW.own_messages, NOW + 3600 * SECOND)
    assert texts(*lines, window=much_later) == ["runs"]


# ---------------------------------------------------------------- the file


def written(home: Path, *lines: bytes, config: str = ".claude", project: str = "-work") -> Path:
    path = home / config / "projects" / project / f"{CONVERSATION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(each + b"\n" for each in lines))
    return path


def outside(home: Path, state: State | None = None, **environment: str) -> OutsideTurns | None:
    known = state or State(conversation_id=CONVERSATION, settled=["own"])
    last = LastRun(STARTED, ENDED, dump(known), VERSION)
    return ClaudeProvider().outside_turns(SESSION, CONVERSATION, {"HOME": str(home), **environment}, last)


TURN = (
    prompt(3000, "typed"),
    line("assistant", 3001, [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]),
    line("user", 3003, [{"type": "tool_result", "tool_use_id": "t", "content": "a.txt"}]),
    answer(3004, "One file."),
)


def test_an_outside_turn_becomes_events_without_usage_or_status(tmp_path: Path) -> None:
    written(tmp_path, OWN, OWN_ANSWER, *TURN)
    found = outside(tmp_path)
    assert found is not None
    (turn,) = found.turns
    assert [event.WhichOneof("event") for event in turn.events] == [
        "user_input",
        "tool_call_start",
        "tool_call_result",
        "text_delta",
        "turn_complete",
    ]
    said, _, result, text, end = turn.events
    assert (said.user_input.content, said.user_input.client_id) == ("typed", "outside")
    assert (result.tool_call_result.output, result.tool_call_result.duration_ms) == ("a.txt", 2000)
    assert (text.text_delta.text, text.text_delta.is_complete) == ("One file.", True)
    assert text.timestamp.ToNanoseconds() == 3004 * SECOND
    assert list(end.turn_complete.message_ids) == [said.user_input.message_id]
    assert (end.turn_complete.stop_reason, end.turn_complete.origin) == ("end_turn", "outside")
    assert end.turn_complete.fork_point == f"{CONVERSATION}@assistant-3004"
    assert load(found.state, VERSION).point == "assistant-3004"


def test_the_same_turns_are_not_found_again(tmp_path: Path) -> None:
    path = written(tmp_path, OWN, OWN_ANSWER, *TURN)
    found = outside(tmp_path)
    assert found is not None
    known = carried_over(load(found.state, VERSION))
    os.utime(path, ns=(known.transcript_ns, known.transcript_ns))
    assert outside(tmp_path, known) is None  # not even read
    os.utime(path, ns=(known.transcript_ns + 1, known.transcript_ns + 1))
    again = outside(tmp_path, known)
    assert again is not None
    assert again.turns == ()


def test_the_newest_of_too_many_are_imported(tmp_path: Path) -> None:
    many = (each for at in range(MOST_TURNS + 3) for each in (prompt(3000 + at, f"t{at}"), answer(3000.5 + at)))
    written(tmp_path, OWN, *many)
    found = outside(tmp_path)
    assert found is not None
    assert (len(found.turns), found.omitted) == (MOST_TURNS, 3)
    assert found.turns[0].events[0].user_input.content == "t3"


def test_of_a_huge_transcript_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "TAIL_BYTES", 4096)
    written(tmp_path, prompt(2500, "long ago"), answer(2501, "x" * 8192), OWN, *TURN)
    found = outside(tmp_path)
    assert found is not None
    assert [turn.events[0].user_input.content for turn in found.turns] == ["typed"]


def test_a_line_that_is_not_written_whole_yet_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, OWN, *TURN)
    with path.open("ab") as file:
        file.write(prompt(3005, "half")[:-1])
    found = outside(tmp_path)
    assert found is not None
    assert len(found.turns) == 1


def test_where_transcripts_are(tmp_path: Path) -> None:
    assert find_transcript({"HOME": str(tmp_path)}, CONVERSATION) is None
    assert find_transcript({}, CONVERSATION) is None
    assert find_transcript({"HOME": "/\0"}, CONVERSATION) is None
    old = written(tmp_path, OWN, project="-old")
    (tmp_path / ".claude/secret.jsonl").touch()
    assert find_transcript({"HOME": str(tmp_path)}, "../../secret") is None
    (tmp_path / ".claude/projects/a-file").touch()
    new = written(tmp_path, OWN, project="-new")
    os.utime(old, ns=(1, 1))
    assert find_transcript({"HOME": str(tmp_path)}, CONVERSATION) == new
    other = written(tmp_path, OWN, config="other")
    environment = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    assert find_transcript(environment, CONVERSATION) == other


def test_without_a_transcript_or_a_state_nothing_is_found(tmp_path: Path) -> None:
    assert outside(tmp_path) is None
    written(tmp_path, OWN, *TURN)
    last = LastRun(STARTED, ENDED, b"", 0)
    assert ClaudeProvider().outside_turns(SESSION, CONVERSATION, {"HOME": str(tmp_path)}, last) is None


def test_what_is_no_file_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, OWN)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="is a FIFO"):
        outside(tmp_path)


@pytest.mark.parametrize("text", [r"\ud800", r"\u0000", r"\udfff\ud800 both", "\\u001b[31m"])
def test_odd_characters_can_be_stored(tmp_path: Path, text: str) -> None:
    odd = [each.replace(b"ODD", text.encode()) for each in (prompt(3000, "a ODD"), answer(3001, "b ODD"))]
    written(tmp_path, OWN, *odd, *(prompt(3002, "typed"), answer(3003)))
    found = outside(tmp_path)
    assert found is not None
    for turn in found.turns:
        for event in turn.events:
            assert event.SerializeToString()
    assert found.turns[-1].events[0].user_input.content == "typed"
