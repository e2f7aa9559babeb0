"""What is known after a round: read from the daemon while it still serves, and from its files when it has ended."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio

from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.engine.maintenance.orphan_check import violations
from betcode.holder.platform import resident_bytes
from betcode.v1 import agent_pb2 as v1
from betcode.v1.admin_pb2 import AGENTS_AT_STOP_ALL_END
from support.daemon.process import Daemon
from support.providers.ledger import CLAUDE, Kind
from support.rounds.driver import Round
from support.rounds.evidence import Noted, Numbered, RoundEvidence, Sent, SessionEvidence
from support.rounds.facts import Facts, ledger, reading
from support.rounds.judge import DESCRIPTORS_MORE
from support.rounds.plan import Way
from support.rounds.viewers import read_all

Found = TypeVar("Found")

_OF_PROMPTS = ("heard", "withdrew")
_READ_WITHIN_S = 60.0
_REST_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.05
_STAYS = {"betcode.db", "betcode.db.incarnation", "daemon.lock", "daemon.log", "daemon.sock.lock", "obey.sock.lock"}
_STAYS |= {"betcode.db.reserve", "daemon.sock.ticket.lock", "runs", "search.db", "snapshots"}
# The index is opened again a while after it failed; until then what a killed daemon left of it lies there.
_LEFT_BY_SHORTAGE = {"search.db-shm", "search.db-wal"}


async def gather(round_: Round, descriptors_before: int) -> RoundEvidence:
    daemon, facts = round_.daemon, round_.facts
    for viewer in round_.viewers:
        viewer.leaving.cancel()
    for process in round_.client_processes:
        process.end()
    round_.know_all_forks()
    disagreements = await _until_none(lambda: violations(facts.live_runs(), daemon.paths.runs))
    sessions = [await _gather_session(round_, session_id) for session_id in round_.sessions]
    left_open = await _until_none(lambda: _open_without_agent(daemon, facts.live_runs()))
    descriptors = await _descriptors(daemon, descriptors_before)
    resident = resident_bytes(daemon.pid)
    round_.keeper.keeps = False
    await round_.clients[0].stop_daemon(round_.keeper.ask_to_end(), AGENTS_AT_STOP_ALL_END)
    code = await daemon.ended()
    if code:
        round_.keeper.unasked_ends.append(f"told to stop, it ended with {code}")
    running = await _until_none(lambda: [_command(one.pid) for one in daemon.processes()])
    return RoundEvidence(
        sessions=tuple(sessions),
        breaches=tuple(disagreements),
        unasked_ends=tuple(round_.keeper.unasked_ends),
        errors_logged=tuple(_errors(daemon, was_short=round_.keeper.was_short)),
        left_running=tuple(running),
        left_lying=tuple(_left_lying(round_)),
        left_open=tuple(left_open),
        descriptors=(descriptors_before, descriptors),
        resident_bytes=resident,
    )


async def _gather_session(round_: Round, session_id: str) -> SessionEvidence:
    facts, work = round_.facts, round_.work[session_id]
    viewers = [viewer for viewer in round_.viewers if viewer.session_id == session_id]
    views = tuple(view for viewer in viewers for view in viewer.evidence())
    refusals = tuple(refusal for viewer in viewers for refusal in viewer.refusals)
    known = facts.session(session_id)
    if known is None or known.is_deleted:
        return SessionEvidence(session_id, is_deleted=True, views=views, refusals=refusals)
    kind = round_.kind
    # The daemon reads the tree after a turn, and the turn does not wait for it.
    unnoted = [] if round_.keeper.was_short else await _until_none(lambda: facts.unnoted_turns(known.key))
    seen = await read_session(round_.daemon, session_id, work, kind)
    return replace(
        seen,
        may_have_gaps=session_id in round_.torn,
        views=views,
        refusals=refusals,
        original=_shared_log(round_, session_id, known.forked_at),
        sent=tuple(_sent(round_, session_id)),
        given=tuple(round_.given[session_id]),
        compactions=tuple(round_.compactions[session_id]),
        ledger=own_ledger(kind, work, session_id, seen.log),
        ended_at={message: at for (owner, message), at in round_.ended_at.items() if owner == session_id},
        unnoted=tuple(unnoted),
    )


def _sent(round_: Round, session_id: str) -> list[Sent]:
    """What was sent to it, and to the session it was forked from as far as that is its history too."""
    sent, original, known = round_.sent[session_id], round_.originals.get(session_id), round_.facts.session(session_id)
    if original is None or known is None:
        return sent
    before = [one for one in _sent(round_, original) if one.seq is None or one.seq <= known.forked_at]
    return [*before, *sent]


def _shared_log(round_: Round, session_id: str, forked_at: int) -> tuple[Numbered, ...]:
    original = round_.originals.get(session_id)
    known = round_.facts.session(original) if original is not None else None
    if known is None or known.is_deleted:
        return ()
    return tuple((seq, data) for seq, data in round_.facts.log(known.key) if seq <= forked_at)


def own_ledger(kind: Kind, work: Path, session_id: str, log: Sequence[Numbered]) -> tuple[Noted, ...]:
    """What the agents of a session have done; an agent that knows only its calls notes these for the prompts."""
    if kind.can_all:
        return ledger(work, session_id)
    asked = (v1.AgentEvent.FromString(data).permission_request for _, data in log)
    prompts = {request.tool_use_id: request.request_id for request in asked if request.request_id}
    noted = ledger(work)
    return tuple(
        replace(one, name=prompts.get(one.name, one.name)) if one.what in _OF_PROMPTS else one for one in noted
    )


async def read_session(daemon: Daemon, session_id: str, work: Path, kind: Kind = CLAUDE) -> SessionEvidence:
    """What the daemon and its files say of a session; what clients and agents say is still to be added."""
    facts = Facts(daemon.paths.database, daemon.paths.runs)
    known = facts.session(session_id)
    assert known is not None
    with anyio.fail_after(_READ_WITHIN_S):
        followed = await read_all(daemon, Way.FOLLOW, session_id, known.last_seq)
        resumed = await read_all(daemon, Way.RESUME, session_id, known.last_seq)
    log = facts.log(known.key)
    new = NewSession(
        SessionId(session_id), kind.provider, str(work), worktree_id=known.worktree_id, metadata=kind.metadata
    )
    provider = kind.reader(work.parent / f"agent-{kind.module}")
    return SessionEvidence(
        session_id=session_id,
        status=known.status,
        log=tuple((seq, data) for seq, data in log if seq <= known.last_seq),
        after_rest=tuple((seq, data) for seq, data in log if seq > known.last_seq),
        followed=followed,
        resumed=resumed,
        boundary=known.boundary,
        forked_at=known.forked_at,
        reading=tuple(reading(provider, new, facts.runs(known.key))),
        inputs=facts.inputs(known.key),
        prompts=facts.prompts(known.key),
    )


async def _until_none(look: Callable[[], list[Found]]) -> list[Found]:
    """What is still found after a while: processes and rows may need a moment."""
    found = look()
    with anyio.move_on_after(_REST_WITHIN_S):
        while found:  # nothing tells of the end of a process
            await anyio.sleep(_LOOK_EVERY_S)
            found = look()
    return found


async def _descriptors(daemon: Daemon, before: int) -> int:
    """How many are open; connections that were just left need a moment."""
    with anyio.move_on_after(_REST_WITHIN_S):
        while open_descriptors(daemon) > before + DESCRIPTORS_MORE:  # noqa: ASYNC110
            await anyio.sleep(_LOOK_EVERY_S)
    return open_descriptors(daemon)


def open_descriptors(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))  # noqa: PTH208 the number is wanted, not paths


def open_run_files(daemon: Daemon) -> list[Path]:
    """The files of runs that the daemon has open."""
    found: list[Path] = []
    for entry in Path(f"/proc/{daemon.pid}/fd").iterdir():
        with suppress(OSError):  # closed since we looked
            target = entry.readlink()
            found += [target] if target.is_relative_to(daemon.paths.runs) else []
    return found


def _open_without_agent(daemon: Daemon, live_runs: Sequence[str]) -> list[str]:
    return [str(path) for path in open_run_files(daemon) if path.parent.name not in live_runs]


def _errors(daemon: Daemon, *, was_short: bool) -> Iterator[str]:
    """What the daemon logged as its own fault; that nothing could be written may be said."""
    for line in daemon.log.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # the line that a killed daemon was writing
        crashed = str(entry.get("message", "")).startswith("the agent crashed")
        if entry.get("level") == "error" and not crashed and not was_short:
            yield line[:1500]


def _left_lying(round_: Round) -> Iterator[str]:
    paths = round_.daemon.paths
    stays = _STAYS | _LEFT_BY_SHORTAGE if round_.keeper.was_short else _STAYS
    for path in sorted(paths.state_dir.iterdir()):
        if path.name not in stays:
            yield path.name
    known = round_.facts.known_runs()
    for run in sorted(paths.runs.iterdir()):
        if (run / "socket").exists():
            yield f"runs/{run.name}/socket"
        if run.name not in known and not round_.deleted:
            yield f"runs/{run.name}, which no row knows"
    for objects in sorted(paths.state_dir.glob("snapshots/*")):
        if objects.name not in round_.sessions and not round_.deleted:
            yield f"snapshots/{objects.name}, which no row knows"


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(bytes(1), b" ")
        return f"{pid} {words.decode(errors='replace')[:200]}"
    except OSError:
        return str(pid)
