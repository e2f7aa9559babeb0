"""The end of a round: everything is made healthy and left to come to rest, within a bound."""

import os
import signal
import uuid
from contextlib import suppress

import anyio
import apsw

from betcode.client.errors import ClientError
from support.rounds.driver import Round
from support.rounds.facts import SessionFacts

SETTLE_WITHIN_S = 90.0
_CATCH_UP_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.05
_NUDGE = "say go on"
_NUDGE_AFTER = 20  # looks at a session that rests with messages it has not consumed


async def settle(round_: Round) -> list[str]:
    """What did not come to rest in time; nothing where all did."""
    round_.keeper.heal()
    for pid in list(round_.paused):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    for process in round_.client_processes:
        process.signal(signal.SIGCONT)
    for work in round_.work.values():
        (work / "go").touch()
        (work / "the end").touch()
    quiet = 0
    waiting: dict[str, int] = {}
    with anyio.move_on_after(SETTLE_WITHIN_S):
        while quiet < 3:
            await anyio.sleep(_LOOK_EVERY_S)
            left = await _look(round_, waiting)
            quiet = 0 if left or round_.acting else quiet + 1
        return []
    return [f"{left} after {SETTLE_WITHIN_S:.0f} s" for left in await _look(round_, waiting)] or ["it does not settle"]


async def _look(round_: Round, waiting: dict[str, int]) -> list[str]:
    """What is still to do; prompts are answered and forgotten messages called to mind on the way."""
    left: list[str] = []
    if not await round_.daemon.serves():
        return ["the daemon does not serve"]
    for session_id in round_.sessions:
        try:
            known = round_.facts.session(session_id)
        except apsw.BusyError:
            return ["the database is busy"]
        if known is None or known.is_deleted:
            continue
        trouble = _unrest(known)
        if not trouble:
            waiting.pop(session_id, None)
            continue
        left.append(f"{session_id} {trouble}")
        with suppress(ClientError):
            if known.open_prompts:
                await _answer_all(round_, session_id)
            elif known.open_messages and known.status == "idle":
                waiting[session_id] = waiting.get(session_id, 0) + 1
                if waiting[session_id] >= _NUDGE_AFTER:
                    waiting[session_id] = 0
                    nudges = sum(sent.text == _NUDGE for sent in round_.sent[session_id])
                    # Another client each time: only one of them may type.
                    await round_.say(session_id, nudges % len(round_.clients), str(uuid.uuid4()), _NUDGE)
    return left


def _unrest(known: SessionFacts) -> str:
    if known.status not in ("new", "idle", "closed"):
        return f"is {known.status}"
    if known.open_prompts or known.open_messages:
        return f"has {known.open_messages} open messages and {known.open_prompts} open prompts"
    if known.open_commands:
        return "is greeting an agent"  # that was started for a message which was cancelled
    return ""


async def _answer_all(round_: Round, session_id: str) -> None:
    for prompt in await round_.clients[0].pending(session_id):
        await round_.answer_one(session_id, prompt, allow=True)


async def catch_up(round_: Round) -> list[str]:
    """Every client that still watches sees the end; those that do not."""
    with anyio.move_on_after(_CATCH_UP_WITHIN_S):
        while behind := _behind(round_):  # noqa: ASYNC110 - some are processes
            await anyio.sleep(_LOOK_EVERY_S)
        return []
    return behind


def _behind(round_: Round) -> list[str]:
    found: list[str] = []
    for viewer in round_.viewers:
        if viewer.leaving.cancel_called or (viewer.process is not None and not viewer.process.is_running):
            continue
        known = round_.facts.session(viewer.session_id)
        if known is None or known.is_deleted or viewer.session_id in round_.deleted:
            continue
        if viewer.is_shut_out and known.status == "closed":
            continue
        if viewer.position < known.last_seq:
            found.append(f"{viewer.name} saw nothing after {viewer.position} of {known.last_seq}, and {viewer.doing}")
    return found
