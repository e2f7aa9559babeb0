"""One session of the gateway: its turns, whoever began them, and its approval requests."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from betcode.agents.openclaw.history import LIMIT, History, read_history
from betcode.agents.openclaw.link import Link, Lost, Refused, Unreachable
from betcode.agents.openclaw.marks import Mark
from betcode.agents.openclaw.reconnect import ReconnectingLink
from betcode.agents.openclaw.translation import (
    ApprovalRequested,
    ApprovalResolved,
    Began,
    Ended,
    MessageStored,
    News,
    RunUpdate,
    Translation,
    Update,
    Used,
)
from betcode.wire.acp.extensions import Trouble

logger = logging.getLogger(__name__)

_GRACE_S = 1.0  # for the message of the active run to be sent again; without it the turn is the gateway's own
_ABORT_S = 5.0  # for a cancelled run to end
_SHOWN_RUNS = 50


class Host(Protocol):
    """The client on the other side of stdio."""

    async def update(self, update: Update) -> None: ...
    async def used(self, usage: dict[str, Any]) -> None: ...
    async def notice(self, message: str) -> None: ...
    async def turn_started(self) -> None: ...
    async def turn_ended(self, ended: Ended) -> None: ...
    async def may(self, asked: ApprovalRequested) -> bool: ...


@dataclass(slots=True)
class Turn:
    run_id: str
    is_own: bool  # begun by the gateway, and not by a message
    is_sent: bool = False
    awaits_run: bool = False  # its run broke off or went into another one: the next that is seen is its
    over: asyncio.Future[Ended] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class GatewayConversation:
    """Shows the runs of one session. Updates are sent in order, by `attend` or by the task that resumes the link."""

    def __init__(
        self,
        key: str,
        cwd: str,
        mark: Mark,
        host: Host,
        keeper: ReconnectingLink,
        start_soon: Callable[[Coroutine[Any, Any, None]], object],
        within_s: float,
    ) -> None:
        self.key = key
        self._mark = mark
        self._host = host
        self._keeper = keeper
        self._start_soon = start_soon
        self._within_s = within_s
        self._translation = Translation(key, cwd)
        self._turn: Turn | None = None
        self._held: list[News] | None = None  # until the owner of its turn is known
        self._history: History | None = None  # as it was when the session was taken up
        self._link: Link | None = None  # also while it is being resumed: a cancel may arrive then
        self._was_taken_up = False
        self._shown: dict[str, Ended] = {}  # runs of the gateway's own turns, by id
        self._asked: dict[str, bool | None] = {}  # pending approvals, and the decisions
        self._abort_later = ""

    @property
    def active_run(self) -> str | None:
        """Return the active run, if known; empty: one without a name."""
        turn = self._turn
        if turn is not None and (turn.is_sent or turn.is_own):
            return "" if turn.awaits_run else turn.run_id
        return None

    @property
    def _now(self) -> Link | None:
        return None if self._link is None or self._link.is_lost else self._link

    async def converse(self, message_id: str, text: str) -> Ended:
        """Send a message to the agent exactly once, and return how its turn ended.

        Raises: Unreachable.
        """
        await self._keeper.link()
        turn = Turn(message_id, is_own=False)
        if await self._is_known(turn):
            await self._release(turn)
        else:
            await self._release(None)
            while self._turn is not None:
                await asyncio.shield(self._turn.over)
            if message_id in self._shown:
                return self._shown[message_id]
            self._turn = turn
            await self._deliver(turn, text)
        return await turn.over

    async def cancel(self) -> None:
        """End the active run; the turn is over when the gateway confirms it, or soon after."""
        turn, link = self._turn, self._now
        if turn is None:
            return
        if link is None:
            self._abort_later = turn.run_id
            await self._finish(turn, Ended(turn.run_id, "cancelled"))
            return
        run = {} if turn.awaits_run else {"runId": turn.run_id}
        try:
            await link.call("chat.abort", sessionKey=self.key, **run)
        except (Lost, Refused) as trouble:
            logger.warning("the run could not be ended: %s", trouble)
        await asyncio.wait([turn.over], timeout=_ABORT_S)
        await self._finish(turn, Ended(turn.run_id, "cancelled"))

    async def take_up(self, link: Link) -> None:
        """Subscribe to the session, and report what was missed.

        Raises: Refused, Lost.
        """
        self._link = link
        await link.call("sessions.messages.subscribe", key=self.key, includeApprovals=True)
        await link.call(
            "sessions.subscribe"
        )  # without it, tools of runs that another connection began are not received
        history = await self._read(link)
        is_first, self._was_taken_up = not self._was_taken_up, True
        self._history = history if is_first else None
        if not self._mark.is_known:
            self._mark.move(history.last_seq)
        news = self._missed(history, self._mark.seq)
        if self._abort_later:
            await link.call("chat.abort", sessionKey=self.key, runId=self._abort_later)
            self._abort_later = ""
        if is_first and (news or history.is_active):
            self._held = news
            self._start_soon(self._release_after_grace())
        elif self._turn is not None:
            await self._go_on(self._turn, history, news)
        else:
            await self._tell_all(news)
        await self._take_up_approvals(link)

    async def attend(self, link: Link) -> None:
        """Until the link ends."""
        while (event := await link.events.get()) is not None:
            await self._tell_all(self._translation.hear(event))

    async def lost(self, why: Unreachable | None) -> None:
        turn = self._turn
        if turn is None:
            return
        if why is None:
            await self._host.notice("The connection to the OpenClaw gateway was lost; reconnecting")
        else:
            await self._finish(turn, Ended(turn.run_id, "error", trouble_of(why)))

    async def _deliver(self, turn: Turn, text: str) -> None:
        """The gateway recognises a message by its id, and so do we in its memory; it is sent until it has arrived."""
        while True:
            link = await self._keeper.link()
            if turn.is_sent or turn.over.done():
                return  # it was found in the gateway's history, or abandoned, meanwhile
            try:
                told = await link.call("chat.send", sessionKey=self.key, message=text, idempotencyKey=turn.run_id)
            except Lost:
                continue
            except Refused as refused:
                message = f"The gateway refused the message: {refused.error}"
                await self._finish(turn, Ended(turn.run_id, "error", {"kind": "error", "message": message}))
                return
            turn.is_sent = True
            if isinstance(told, dict) and told.get("status") == "ok":
                await self._catch_up(turn, link)
            return

    async def _is_known(self, turn: Turn) -> bool:
        """Return whether the gateway got the message from an earlier bridge; then it belongs to that turn."""
        history = self._history
        if history is None or self._turn is not None:
            return False
        if history.active_run != turn.run_id and not history.has(turn.run_id):
            return False
        if self._held is None and turn.run_id in self._shown:
            return False
        self._turn, turn.is_sent = turn, True
        turn.awaits_run = history.active_run != turn.run_id
        return True

    async def _release(self, turn: Turn | None) -> None:
        held, self._held = self._held, None
        history, self._history = self._history, None
        await self._tell_all(held or ())
        if turn is not None and history is not None and not turn.over.done() and turn.awaits_run:
            await self._settle(turn, history)

    async def _release_after_grace(self) -> None:
        await asyncio.sleep(_GRACE_S)
        if self._held is not None:
            await self._release(None)

    async def _catch_up(self, turn: Turn, link: Link) -> None:
        history = await self._read(link)
        await self._go_on(turn, history, self._missed(history, self._mark.seq))

    async def _read(self, link: Link) -> History:
        return read_history(await link.call("chat.history", sessionKey=self.key, limit=LIMIT))

    def _missed(self, history: History, seq: int) -> list[News]:
        """Yield stored or current text that was missed; with its end if there is one."""
        news: list[News] = []
        run_id = ""
        for run_id, entry in history.behind(seq):
            news += self._translation.recall(entry, run_id)
        if history.active_run:
            news += self._translation.goes_on(history.active_run, history.last_moment_ms)
        for event in history.flight:
            news += self._translation.hear(event)
        if news and not history.is_active and not history.is_to_be_resumed:
            self._translation.end(run_id)
            news.append(_outcome(history, run_id))
        return news

    async def _go_on(self, turn: Turn, history: History, news: list[News]) -> None:
        """With an open turn, on a new link."""
        if not turn.is_sent and not turn.is_own:
            turn.is_sent = history.active_run == turn.run_id or history.has(turn.run_id)
        if turn.is_sent and history.active_run != turn.run_id:
            turn.awaits_run = True
        await self._tell_all(news)
        if turn.is_own or turn.is_sent:
            await self._settle(turn, history)
        if not turn.over.done():
            await self._host.notice("Connected to the OpenClaw gateway again")

    async def _settle(self, turn: Turn, history: History) -> None:
        """Find the run that continues an open turn, or end the turn."""
        if turn.over.done():
            return
        if history.active_run:
            turn.run_id, turn.awaits_run = history.active_run, False
        elif history.is_active or history.is_to_be_resumed:
            turn.awaits_run = True
            self._start_soon(self._give_up_waiting(turn))
        else:
            await self._finish(turn, _outcome(history, turn.run_id))

    async def _give_up_waiting(self, turn: Turn) -> None:
        await asyncio.wait([turn.over], timeout=self._within_s)
        if turn.awaits_run:
            message = "The gateway lost the run and did not resume it"
            await self._finish(turn, Ended(turn.run_id, "error", {"kind": "error", "message": message}))

    async def _take_up_approvals(self, link: Link) -> None:
        waiting = await link.call("exec.approval.list")
        for approval in waiting if isinstance(waiting, list) else ():
            for news in self._translation.asked(approval) if isinstance(approval, dict) else ():
                if isinstance(news, ApprovalRequested) and (decided := self._asked.get(news.approval_id)) is not None:
                    await self._resolve(news.approval_id, allow=decided)
                else:
                    await self._tell_all([news])

    async def _tell_all(self, news: "list[News] | tuple[News, ...]") -> None:
        for each in news:
            if self._held is not None:
                self._held.append(each)
            else:
                await self._tell(each)

    async def _tell(self, news: News) -> None:
        match news:
            case Began(run_id):
                await self._open(run_id)
            case RunUpdate(run_id, update):
                await self._open(run_id)
                await self._host.update(update)
            case Used(_, usage):
                await self._host.used(usage)
            case ApprovalRequested(run_id, approval_id, _):
                if approval_id not in self._asked:
                    self._asked[approval_id] = None
                    await self._open(run_id)
                    self._start_soon(self._ask(news))
            case ApprovalResolved(approval_id):
                self._asked.pop(approval_id, None)
            case MessageStored(seq):
                self._mark.move(seq)
            case Ended(run_id) if self._turn is not None and self._turn.run_id == run_id:
                await self._ended(self._turn, news)
            case Ended():
                pass

    async def _open(self, run_id: str) -> None:
        """A run that no message of ours began is a turn of the gateway's own, unless one waits for it."""
        if self._turn is None:
            self._turn = Turn(run_id, is_own=True)
            await self._host.turn_started()
        elif self._turn.awaits_run:
            self._turn.run_id, self._turn.awaits_run = run_id, False

    async def _ended(self, turn: Turn, ended: Ended) -> None:
        if ended.is_empty and not turn.is_own and (link := self._now) is not None:
            # Another run was faster: the gateway has given it our message, and its text is the answer.
            history = await self._read(link)
            if history.is_active:
                turn.awaits_run = True
                await self._settle(turn, history)
                return
        await self._finish(turn, ended)

    async def _finish(self, turn: Turn, ended: Ended) -> None:
        if turn.over.done():
            return
        self._translation.end(turn.run_id)
        turn.over.set_result(ended)
        if self._turn is turn:
            self._turn = None
        if turn.is_own:
            self._shown[turn.run_id] = ended
            while len(self._shown) > _SHOWN_RUNS:
                del self._shown[next(iter(self._shown))]
            await self._host.turn_ended(ended)

    async def _ask(self, asked: ApprovalRequested) -> None:
        allow = await self._host.may(asked)
        if asked.approval_id in self._asked:
            self._asked[asked.approval_id] = allow
            await self._resolve(asked.approval_id, allow=allow)

    async def _resolve(self, approval_id: str, *, allow: bool) -> None:
        """Send the decision; without a link the next one sends it. Never permanently: our own rules decide about later
        calls.
        """
        if (link := self._now) is None:
            return
        try:
            await link.call("exec.approval.resolve", id=approval_id, decision="allow-once" if allow else "deny")
        except (Lost, Refused) as trouble:
            logger.warning("an answer did not reach the gateway: %s", trouble)


def trouble_of(missing: Unreachable) -> Trouble:
    if missing.is_auth:
        advice = "set agents.openclaw.token_file to the file with the gateway's token"
        return {"kind": "auth", "message": str(missing), "advice": advice}
    return {
        "kind": "gone",
        "message": str(missing),
        "advice": "check that the gateway is running, then send the message again",
    }


def _outcome(history: History, run_id: str) -> Ended:
    """Return how a run ended that was not observed."""
    if history.last_run != run_id:
        return Ended(run_id, "end_turn")
    if history.was_aborted or history.status in ("aborted", "cancelled", "killed"):
        return Ended(run_id, "cancelled")
    if history.status in ("failed", "error", "timeout"):
        return Ended(run_id, "error", {"kind": "error", "message": history.last_error or "the gateway's run failed"})
    return Ended(run_id, "end_turn")
