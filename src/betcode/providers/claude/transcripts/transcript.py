"""Finds Claude Code's transcript, and the turns in it that were made without betcode.

Measured with Claude Code 2.1: every `user` and `assistant` line has a `timestamp` and an `entrypoint`, which is `cli`
for the interactive program and `sdk-cli` for `claude -p`, so for every agent of ours. Only a line with a prompt has
`promptSource`: commands, tool results, shell lines, interruptions and continuations have none.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

from betcode.util.state_files import open_file

TAIL_BYTES = 32 * 1024 * 1024  # of a longer transcript only the end is read
_LONGEST_LINE = 8 * 1024 * 1024
_CONVERSATION = re.compile(r"[0-9a-fA-F-]{36}")
_INTERACTIVE = "cli"
_PROMPTS = frozenset({"typed", "queued", "suggestion_accepted", "sdk"})
_PROGRAM_TURNS = frozenset({"scheduled", "task_notification", "auto_continuation", "peer", "host_synthetic"})
_INTERRUPTED = "[Request interrupted by user"
_RESUMED = "No response requested."  # put after an interrupted turn by the program that resumes
_KINDS = (b'"type":"user"', b'"type":"assistant"')
_CLOCK_SLACK_NS = 60 * 1_000_000_000  # a line from a later time than that has no time that can be believed
_UNFINISHED_FOR_NS = 600 * 1_000_000_000  # a turn without an end is taken as it is when it was silent for so long


class _TranscriptBlock(msgspec.Struct):
    type: str = ""
    text: str = ""


class _TranscriptMessage(msgspec.Struct):
    content: str | list[_TranscriptBlock] = ""
    stop_reason: str | None = None


class _TranscriptLine(msgspec.Struct, rename="camel"):
    type: str = ""
    uuid: str = ""
    timestamp: str = ""
    entrypoint: str = ""
    message: _TranscriptMessage = msgspec.field(default_factory=_TranscriptMessage)
    prompt_source: str = ""
    turn_origin: str = ""
    is_meta: bool = False
    is_sidechain: bool = False
    is_compact_summary: bool = False
    is_visible_in_transcript_only: bool = False


@dataclass(slots=True)
class TranscriptTurn:
    """A prompt and the lines that answer it."""

    message_id: str
    text: str
    began_ns: int
    lines: list[tuple[int, bytes]] = field(default_factory=list)  # each with its time
    last_uuid: str = ""
    last_ns: int = 0
    was_interrupted: bool = False
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Which lines count: those after `after_ns` that no agent of ours wrote, the last of which ended at `ended_ns`."""

    after_ns: int
    ended_ns: int
    own_messages: frozenset[str]  # some that this conversation has surely had from us
    now_ns: int


_decode = msgspec.json.Decoder(_TranscriptLine).decode


def find_transcript(environment: Mapping[str, str], conversation_id: str) -> Path | None:
    """The newest file that has this conversation, whichever directory it was begun in.

    Raises: OSError
    """
    home = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(environment.get("HOME", ""), ".claude")  # noqa: PTH118
    if not _CONVERSATION.fullmatch(conversation_id) or not Path(home).is_absolute() or "\0" in home:
        return None
    found: list[tuple[int, Path]] = []
    try:
        with os.scandir(Path(home) / "projects") as projects:
            for project in projects:
                path = Path(project.path) / f"{conversation_id}.jsonl"
                try:
                    found.append((path.lstat().st_mtime_ns, path))
                except (FileNotFoundError, NotADirectoryError):
                    continue
    except FileNotFoundError:
        return None
    return max(found)[1] if found else None


def read_lines(path: Path, after_ns: int) -> list[bytes]:
    """The lines of its end; empty where it has not changed since `after_ns`.

    Raises: OSError
    """
    descriptor = open_file(path)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_mtime_ns <= after_ns:
            return []
        begin = max(status.st_size - TAIL_BYTES, 0)
        file.seek(begin)
        data = file.read(TAIL_BYTES)
    lines = data.split(b"\n")
    del lines[-1]  # empty, or not written whole yet
    return lines[1:] if begin else lines


@dataclass(frozen=True, slots=True)
class FoundTurns:
    turns: list[TranscriptTurn]  # oldest first
    until_ns: int  # the time up to which the transcript is done with


def find_outside(lines: Iterable[bytes], window: Window) -> FoundTurns:
    """The turns that were made by another program; a last one that still runs is left for later."""
    turns: list[TranscriptTurn] = []
    turn: TranscriptTurn | None = None
    for line, raw in _after_own(lines, window.own_messages):
        at_ns = _time(line.timestamp)
        if not window.after_ns < at_ns <= window.now_ns + _CLOCK_SLACK_NS:
            continue
        if not (line.entrypoint == _INTERACTIVE or at_ns > window.ended_ns):
            continue
        if line.type == "assistant" or _has(line, "tool_result"):
            if turn is not None and _text(line) == _RESUMED:
                turn.has_ended = True
            elif turn is not None:
                turn.lines.append((at_ns, raw))
                turn.last_uuid, turn.last_ns = line.uuid or turn.last_uuid, at_ns
                turn.has_ended = line.type == "assistant" and not _has(line, "tool_use") and not _calls_tool(line)
            continue
        text = _text(line)
        if turn is not None and text.startswith(_INTERRUPTED):
            turn.was_interrupted = turn.has_ended = True
            continue
        if turn is not None:
            turn.has_ended = True
        turn = None
        if _is_prompt(line, text) and line.uuid not in window.own_messages:
            turn = TranscriptTurn(line.uuid, text, at_ns, last_uuid=line.uuid, last_ns=at_ns)
            turns.append(turn)
    if turns and not turns[-1].has_ended and turns[-1].last_ns > window.now_ns - _UNFINISHED_FOR_NS:
        return FoundTurns(turns[:-1], turns[-1].began_ns - 1)
    return FoundTurns(turns, max([window.now_ns, *(turn.last_ns for turn in turns)]))


def _after_own(lines: Iterable[bytes], own: frozenset[str]) -> Iterator[tuple[_TranscriptLine, bytes]]:
    """What follows a message of ours: a branched conversation begins with lines of the one it was branched from."""
    has_begun = False
    for raw in lines:
        if len(raw) > _LONGEST_LINE or not any(kind in raw for kind in _KINDS):
            continue
        try:
            line = _decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if line.type not in ("user", "assistant"):
            continue
        if not has_begun:
            has_begun = line.uuid in own
        elif not (line.is_meta or line.is_sidechain or line.is_compact_summary or line.is_visible_in_transcript_only):
            yield line, raw


def _is_prompt(line: _TranscriptLine, text: str) -> bool:
    return (
        bool(line.uuid)
        and line.prompt_source in _PROMPTS
        and line.turn_origin not in _PROGRAM_TURNS
        and bool(text.strip())
        and not text.lstrip().startswith("/")
    )


def _has(line: _TranscriptLine, kind: str) -> bool:
    content = line.message.content
    return not isinstance(content, str) and any(block.type == kind for block in content)


def _calls_tool(line: _TranscriptLine) -> bool:
    return line.message.stop_reason == "tool_use"


def _text(line: _TranscriptLine) -> str:
    content = line.message.content
    if isinstance(content, str):
        return content
    return "\n".join(block.text if block.type == "text" else f"[{block.type}]" for block in content)


def _time(text: str) -> int:
    """Nanoseconds since 1970; 0 for what is no time."""
    try:
        builder = datetime.fromisoformat(text)
    except ValueError:
        return 0
    if builder.tzinfo is None:
        return 0
    return max(round(builder.timestamp() * 1000), 0) * 1_000_000
