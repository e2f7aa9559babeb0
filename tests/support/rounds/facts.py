"""A look into a round's files from outside: the database, the journals and the agents' ledgers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from betcode.domain.events.size_limit import bound
from betcode.domain.ports import Provider
from betcode.domain.store.rows import NewSession
from betcode.v1 import agent_pb2 as v1
from support.daemon.runs import RunOnDisk
from support.rounds.evidence import InputSeen, Noted, Numbered, PromptSeen

_BUSY_MS = 10_000


@dataclass(frozen=True, slots=True)
class SessionFacts:
    key: int
    status: str
    last_seq: int
    is_deleted: bool
    open_messages: int
    open_prompts: int
    open_commands: int = 0
    boundary: int = 0
    forked_at: int = 0
    worktree_id: str = ""


class Facts:
    """What the daemon's files say at this moment."""

    def __init__(self, database: Path, runs: Path) -> None:
        self._database = database
        self._runs = runs

    def _ask(self, question: str, *values: str | int) -> list[tuple[Any, ...]]:
        # Read-only in spirit; a database in WAL mode wants its shared memory to be writable.
        connection = apsw.Connection(str(self._database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(_BUSY_MS)
            return connection.execute(question, values).fetchall()
        finally:
            connection.close()

    def session(self, session_id: str) -> SessionFacts | None:
        rows = self._ask(
            "SELECT key, status, last_seq, deleted, compaction_sequence, forked_at, worktree_id, "
            "(SELECT count(*) FROM inputs WHERE session = sessions.key AND kind = 'message' "
            "AND state IN ('accepted', 'delivered')), "
            "(SELECT count(*) FROM pending_permissions WHERE session_id = sessions.key AND state = 'open'), "
            "(SELECT count(*) FROM inputs WHERE session = sessions.key AND kind = 'control' "
            "AND state IN ('accepted', 'delivered')) "
            "FROM sessions WHERE session_id = ?",
            session_id,
        )
        if not rows:
            return None
        key, status, last_seq, deleted, boundary, forked_at, worktree_id, messages, prompts, commands = rows[0]
        still_open = (messages, prompts, commands)
        return SessionFacts(key, status, last_seq, bool(deleted), *still_open, boundary, forked_at, worktree_id)

    def unnoted_turns(self, key: int) -> list[int]:
        """Turns that have ended without a row, from the first that has one on."""
        noted = {int(turn) for (turn,) in self._ask("SELECT turn FROM turn_snapshots WHERE session = ?", key)}
        ((turns,),) = self._ask("SELECT turns FROM sessions WHERE key = ?", key)
        return [turn for turn in range(min(noted, default=turns + 1), turns + 1) if turn not in noted]

    def forks(self) -> list[tuple[str, str]]:
        """Every fork that is there and the session it came from, oldest first."""
        return self._ask("SELECT session_id, forked_from FROM sessions WHERE forked_from != '' AND NOT deleted")

    def log(self, key: int) -> tuple[Numbered, ...]:
        rows = self._ask("SELECT seq, data FROM events WHERE place >> 40 = ? ORDER BY place", key)
        return tuple(rows)

    def inputs(self, key: int) -> Mapping[str, InputSeen]:
        rows = self._ask("SELECT input_id, kind, state FROM inputs WHERE session = ?", key)
        return {str(name): InputSeen(str(kind), str(state)) for name, kind, state in rows}

    def ended_messages(self) -> list[tuple[str, str]]:
        """The messages of all sessions that are in a terminal state, as session id and message id."""
        rows = self._ask(
            "SELECT s.session_id, i.input_id FROM inputs i JOIN sessions s ON s.key = i.session "
            "WHERE i.kind = 'message' AND i.state NOT IN ('accepted', 'delivered')"
        )
        return [(str(session), str(message)) for session, message in rows]

    def prompts(self, key: int) -> Mapping[str, PromptSeen]:
        rows = self._ask("SELECT request_id, state, decision FROM pending_permissions WHERE session_id = ?", key)
        return {str(name): PromptSeen(str(state), str(decision)) for name, state, decision in rows}

    def runs(self, key: int) -> list[RunOnDisk]:
        """Of one session, oldest first."""
        rows = self._ask("SELECT run_id FROM runs WHERE session = ? ORDER BY key", key)
        return [RunOnDisk(self._runs / str(name)) for (name,) in rows]

    def known_runs(self) -> set[str]:
        return {str(name) for (name,) in self._ask("SELECT run_id FROM runs")}

    def live_runs(self) -> list[str]:
        rows = self._ask("SELECT run_id FROM runs WHERE state IN ('spawning', 'running')")
        return [str(name) for (name,) in rows]


def reading(provider: Provider, new: NewSession, runs: Sequence[RunOnDisk]) -> list[v1.AgentEvent]:
    """What all journals of a session give, each read once from its beginning to its end."""
    conversation: str = new.session_id
    state, events = b"", list[v1.AgentEvent]()
    for run in runs:
        dialogue = provider.dialogue(new, conversation, state, version=provider.dialogue_version)
        records = run.records() if run.directory.exists() else []
        events += [bound(event)[0] for record in records for event in dialogue.receive(record)]
        conversation = dialogue.view.conversation_id or conversation
        state = provider.carry_over(dialogue.state(), provider.dialogue_version)
    return events


def ledger(directory: Path, session_id: str = "") -> tuple[Noted, ...]:
    """What the agents of one session, or all that ever worked there, have really done."""
    path = directory / "ledger"
    lines = path.read_text().splitlines() if path.exists() else []
    entries = [json.loads(line) for line in lines]
    own = [one for one in entries if session_id in ("", one["session"])]
    return tuple(
        Noted(one["what"], one["id"], one["pid"], one.get("behaviour", ""), one.get("at", 0.0), one.get("turn", ""))
        for one in own
    )
