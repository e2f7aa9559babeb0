"""Translates the transcript of turns made with `claude --resume` into events of the session."""

from collections.abc import Mapping

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.sessions.outside_turns import OUTSIDE, LastRun, OutsideTurn, OutsideTurns
from betcode.domain.store.rows import NewSession
from betcode.providers.claude.dialogue import ClaudeDialogue
from betcode.providers.claude.state import State, dump, load
from betcode.providers.claude.transcripts.transcript import (
    TranscriptTurn,
    Window,
    find_outside,
    find_transcript,
    read_lines,
)
from betcode.providers.claude.turns import POINT_SEPARATOR
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

MOST_TURNS = 100
_PROGRAM = "claude --resume"
_IMPORTED = frozenset({"text_delta", "thinking_delta", "tool_call_start", "tool_call_result"})


def outside_turns(
    session: NewSession, conversation_id: str, environment: Mapping[str, str], last: LastRun
) -> OutsideTurns | None:
    """Raises OSError; UnreadableState where nobody can tell which turns are known."""
    state = load(last.state, last.version)
    after_ns = state.transcript_ns or last.started_ns
    path = find_transcript(environment, conversation_id)
    began_ns = now_ns()
    lines = [] if path is None else read_lines(path, after_ns)
    if not lines:
        return None
    found = find_outside(lines, Window(after_ns, last.ended_ns, frozenset(state.settled), began_ns))
    turns = [translated(session, conversation_id, turn) for turn in found.turns[-MOST_TURNS:]]
    if turns:
        state.point = found.turns[-1].last_uuid
    state.transcript_ns = found.until_ns
    return OutsideTurns(tuple(turns), len(found.turns) - len(turns), _PROGRAM, dump(state))


def translated(session: NewSession, conversation_id: str, turn: TranscriptTurn) -> OutsideTurn:
    """The events of one turn: no usage, which the transcript does not tell by turns, and no change of status."""
    said = v1.AgentEvent()
    said.timestamp.FromNanoseconds(turn.began_ns)
    said.user_input.content = turn.text
    said.user_input.message_id = turn.message_id
    said.user_input.client_id = OUTSIDE
    dialogue = ClaudeDialogue(session, State(conversation_id=conversation_id, began=True, turn=True))
    events = [said]
    for at_ns, line in turn.lines:
        record = Record(RecordKind.OUT, 0, at_ns, at_ns, line, 0, 0)
        events += [event for event in dialogue.receive(record) if event.WhichOneof("event") in _IMPORTED]
    end = v1.AgentEvent()
    end.timestamp.FromNanoseconds(turn.last_ns)
    end.turn_complete.stop_reason = "cancelled" if turn.was_interrupted else "end_turn"
    end.turn_complete.message_ids.append(turn.message_id)
    end.turn_complete.origin = OUTSIDE
    end.turn_complete.fork_point = f"{conversation_id}{POINT_SEPARATOR}{turn.last_uuid}"
    return OutsideTurn(turn.message_id, (*events, end))
