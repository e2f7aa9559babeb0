"""Recorded conversations with `codex app-server`, as our dialogue would have led them: the ids of requests are ours."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from betcode.domain.runs.journal_record import Record
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.codex.provider import CodexProvider
from betcode.v1.agent_pb2 import AgentEvent
from support.paths import CONTRACT
from support.recordings.claude import records_from

WIRE = CONTRACT / "wire" / "codex"
GOLDEN = CONTRACT / "golden" / "codex"

SESSION = NewSession(
    session_id=SessionId("0192d3a0-0000-7000-8000-000000000002"),
    provider="codex",
    working_directory="/home/dev/project",
)
PROVIDER = CodexProvider()
_OURS = {
    "initialize": "betcode-initialize",
    "thread/start": "betcode-thread",
    "thread/resume": "betcode-thread",
    "thread/fork": "betcode-thread",
    "model/list": "betcode-models",
}


def recordings() -> list[Path]:
    return sorted(WIRE.glob("*.jsonl"))


def runs_of(path: Path) -> list[list[Record]]:
    """The records of each process that a recording has, in order."""
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    runs: list[list[dict[str, Any]]] = [[]]
    for row in rows:
        if row["dir"] == "err" and row["line"].startswith("[lab]"):
            continue
        if row["dir"] == "in" and '"initialize"' in row["line"] and any(each["dir"] == "exit" for each in runs[-1]):
            runs.append([])
        runs[-1].append(row)
    return [list(records_from(_with_our_ids(run, number))) for number, run in enumerate(runs)]


def replay(path: Path) -> list[AgentEvent]:
    """The events of all its processes; each goes on with what the one before it knew."""
    events: list[AgentEvent] = []
    state = b""
    for run in runs_of(path):
        dialogue = PROVIDER.dialogue(SESSION, "", state, version=PROVIDER.dialogue_version)
        events += [event for record in run for event in dialogue.receive(record)]
        state = PROVIDER.carry_over(dialogue.state(), PROVIDER.dialogue_version)
    return events


def _with_our_ids(rows: list[dict[str, Any]], run: int) -> Iterator[dict[str, Any]]:
    ids: dict[int, str] = {}
    for row in rows:
        yield {**row, "line": _renamed(row, ids, run)} if row["dir"] in ("in", "out") else row


def _renamed(row: dict[str, Any], ids: dict[int, str], run: int) -> str:
    line: str = row["line"]
    if not line.startswith("{"):
        return line
    said = json.loads(line)
    is_request = row["dir"] == "in" and "method" in said and "id" in said
    is_reply = row["dir"] == "out" and "method" not in said and said.get("id") in ids
    if is_request:
        ids[said["id"]] = _OURS.get(said["method"], f"message-{run}-{said['id']}")
    if not (is_request or is_reply):
        return line
    return json.dumps({**said, "id": ids[said["id"]]}, ensure_ascii=False)
