"""Carries out a plan against a real daemon, real holders and real clients, and gathers what is known afterwards."""

import os
import signal
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import assert_never

import anyio
import anyio.abc
import apsw

from betcode.client import Client, ClientIdentity
from betcode.client.errors import ClientError, Unreachable
from betcode.domain.values.identifiers import MessageId
from betcode.holder.launch import holder_pid
from betcode.holder.platform import descendants
from betcode.v1 import agent_pb2 as v1
from betcode.v1.admin_pb2 import AgentsAtStop
from support.daemon.cutting_proxy import CuttingProxy
from support.daemon.process import Daemon
from support.git.repositories import make_repository
from support.providers.ledger import Kind
from support.rounds import plan as steps
from support.rounds.clock import move_clock
from support.rounds.evidence import Asked, Given, Sent
from support.rounds.facts import Facts
from support.rounds.keeper import Keeper
from support.rounds.plan import How, Plan, Step, Target, Way
from support.rounds.viewers import Viewer, ViewerProcess, through
from support.storage.disk import fill

_CALL_WITHIN_S = 90.0
_LOOK_EVERY_S = 0.1
_TAKEN_OVER_WITHIN_S = 20.0
_IDLE_WITHIN_S = 3.0
_NO_ROOM = (apsw.IOError, apsw.FullError, apsw.CantOpenError)  # on a full disk, not even to look
_FORK_AGAIN_S = (0.2, 0.5, 1.0, 2.0)


def identity_of(client: int) -> ClientIdentity:
    return ClientIdentity(f"client-{client}")


class Round:
    """One round at work: its daemon, its clients, and what they said and saw."""

    def __init__(
        self,
        plan: Plan,
        root: Path,
        daemon: Daemon,
        tasks: anyio.abc.TaskGroup,
        proxy: CuttingProxy,
        cut_socket: Path,
        kind: Kind,
    ) -> None:
        self.plan = plan
        self.kind = kind
        self.root = root
        self.daemon = daemon
        self.tasks = tasks
        self.proxy = proxy
        self.keeper = Keeper(daemon)
        self.facts = Facts(daemon.paths.database, daemon.paths.runs)
        self.cut_paths = through(daemon.paths, cut_socket)
        self.sessions: list[str] = []
        self.work: dict[str, Path] = {}  # where each session's agents work; a fork's work where its original's do
        self.originals: dict[str, str] = {}  # of the forks
        self.sent: dict[str, list[Sent]] = {}
        self.given: dict[str, list[Given]] = {}
        self.compactions: dict[str, list[Asked]] = {}
        self.viewers: list[Viewer] = []
        self.deleted: set[str] = set()
        self.torn: set[str] = set()  # sessions whose holder was killed
        self.paused: set[int] = set()
        self.acting = 0  # calls under way
        self.ended_at: dict[tuple[str, str], float] = {}  # of messages, by session and id
        self.clients: list[Client] = []

    def id_of(self, session: int) -> str:
        """Of a session or a fork; one that is not made, or not yet, stands for another."""
        return self.sessions[session % len(self.sessions)]

    def know(self, session_id: str, work: Path, original: str = "") -> None:
        self.sessions.append(session_id)
        self.work[session_id] = work
        self.sent[session_id], self.given[session_id], self.compactions[session_id] = [], [], []
        if original:
            self.originals[session_id] = original

    async def make_sessions(self) -> None:
        for number in range(self.plan.sessions):
            work = self.root / f"work{number}"
            work.mkdir()
            if number % 2 == 0:  # the tree is noted around its turns
                make_repository(work)
            self.know(await self.clients[0].start_session(self.kind.session(work, self.root)), work)
            if self.plan.has_past:
                await self._have_a_turn(self.sessions[-1])

    async def _have_a_turn(self, session_id: str) -> None:
        await self.say(session_id, 0, str(uuid.uuid4()), "say this was before")
        with anyio.fail_after(_CALL_WITHIN_S):
            while (known := self.facts.session(session_id)) is None or known.status != "idle":  # noqa: ASYNC110
                await anyio.sleep(0.02)

    # ------------------------------------------------------------ steps

    async def run(self) -> None:
        for step in self.plan.steps:
            await self._do(step)

    async def _do(self, step: Step) -> None:
        match step:
            case steps.Say():
                self.act(self.say, self.id_of(step.session), step.client, step.message_id, step.text)
            case steps.Go():
                (self.work[self.id_of(step.session)] / "go").touch()
            case steps.Watch():
                self._watch(step)
            case steps.Leave():
                if self.viewers:
                    self.viewers[step.which % len(self.viewers)].leaving.cancel()
            case steps.Wait() | steps.TakeOver():
                await self._wait(step)
            case steps.Answer() | steps.Cancel() | steps.Rename() | steps.Close() | steps.Stop():
                self.act(self._call, step)
            case steps.Compact():
                self.act(self._compact, step)
            case steps.Fork():
                self.act(self._fork, step)
            case steps.AskLock():
                self.act(self.clients[step.client].input_lock.request, self.id_of(step.session))
            case steps.AnswerLock():
                self.act(self._answer_lock, step)
            case _:
                await self._harm(step)

    async def _call(self, step: steps.Answer | steps.Cancel | steps.Rename | steps.Close | steps.Stop) -> None:
        match step:
            case steps.Answer():
                await self.answer(step)
            case steps.Cancel():
                await self.clients[0].cancel(self.id_of(step.session), cancel_queued=step.queued)
            case steps.Rename():
                await self.clients[0].rename(self.id_of(step.session), step.name)
            case steps.Close():
                await self._close(step)
            case steps.Stop():
                await self._stop(step)
            case _ as never:
                assert_never(never)

    async def _harm(
        self,
        step: steps.Cut
        | steps.Kill
        | steps.Pause
        | steps.Hang
        | steps.DieEarly
        | steps.DieAt
        | steps.FillDisk
        | steps.LockDatabase
        | steps.MoveClock,
    ) -> None:
        match step:
            case steps.Cut():
                self.proxy.cut()
            case steps.Kill():
                self._kill(step)
            case steps.Pause():
                self._pause(step)
            case steps.Hang():
                self._hang(step)
            case steps.DieEarly():
                (self.work[self.id_of(step.session)] / "die-early").touch()
            case steps.DieAt():
                self.keeper.kill(next_fault=f"{step.step}:{step.times}")
            case steps.FillDisk():
                await self._fill(step.ms)
            case steps.LockDatabase():
                self.tasks.start_soon(self._lock_database, step.ms)
            case steps.MoveClock():
                move_clock(self.root, step.seconds)
            case _ as never:
                assert_never(never)

    def act(self, deed: Callable[..., Awaitable[object]], *arguments: object) -> None:
        """A call of a client: it may take long, and the plan goes on."""

        async def acting() -> None:
            self.acting += 1
            try:
                with anyio.move_on_after(_CALL_WITHIN_S), suppress(ClientError):
                    await deed(*arguments)
            finally:
                self.acting -= 1

        self.tasks.start_soon(acting)

    async def say(self, session_id: str, client: int, message_id: str, text: str) -> None:
        sent = self.sent[session_id]
        place = len(sent)
        sent.append(Sent(message_id, text))  # until an answer is there it is not known
        accepted = await self.clients[client].send(session_id, text, message_id=MessageId(message_id))
        sent[place] = Sent(message_id, text, accepted.sequence)

    async def answer(self, step: steps.Answer) -> None:
        session_id = self.id_of(step.session)
        prompts = await self.clients[0].pending(session_id)
        if not prompts:
            return
        prompt = prompts[0]
        async with anyio.create_task_group() as together:
            together.start_soon(self.answer_one, session_id, prompt, step.allow)
            if step.and_then:
                allow = step.allow if step.and_then == "same" else not step.allow
                together.start_soon(self.answer_one, session_id, prompt, allow)

    async def answer_one(self, session_id: str, prompt: v1.PendingPrompt, allow: bool) -> None:
        given = self.given[session_id]
        client = self.clients[len(given) % len(self.clients)]
        try:
            if prompt.HasField("questions"):
                answers = {"Which colour?": "red"}
                answered = await client.answer_question(prompt.request_id, answers, session_id=session_id)
                given.append(Given(prompt.request_id, True, "again" if answered.already_answered else "taken"))
            else:
                decision = v1.ALLOW_ONCE if allow else v1.DENY
                again = await client.answer_permission(prompt.request_id, decision, session_id=session_id)
                given.append(Given(prompt.request_id, allow, "again" if again else "taken"))
        except ClientError as error:
            given.append(Given(prompt.request_id, allow, error.code))

    async def _wait(self, step: steps.Wait | steps.TakeOver) -> None:
        if isinstance(step, steps.Wait):
            await anyio.sleep(step.ms / 1000)
            return
        with anyio.move_on_after(_TAKEN_OVER_WITHIN_S):
            while not await self.daemon.serves():  # noqa: ASYNC110
                await anyio.sleep(_LOOK_EVERY_S)
            with suppress(ClientError):
                await self.clients[step.client].input_lock.request(self.id_of(step.session))
            with anyio.move_on_after(_IDLE_WITHIN_S), suppress(apsw.Error):
                while (known := self.facts.session(self.id_of(step.session))) and known.status == "active":  # noqa: ASYNC110
                    await anyio.sleep(_LOOK_EVERY_S)

    async def _answer_lock(self, step: steps.AnswerLock) -> None:
        asking = identity_of(step.asking).client_id
        await self.clients[step.client].input_lock.answer(self.id_of(step.session), asking, grant=step.grant)

    async def _compact(self, step: steps.Compact) -> None:
        session_id = self.id_of(step.session)
        (self.work[session_id] / "compact").write_text(step.how)
        try:
            done = await self.clients[0].compact(session_id)
        except ClientError as error:
            self.compactions[session_id].append(Asked(error.code))
        else:
            told = Asked("done", done.messages_before, done.messages_after, done.tokens_saved)
            self.compactions[session_id].append(told)

    async def _fork(self, step: steps.Fork) -> None:
        original = self.id_of(step.session)
        try:
            known = self.facts.session(original)
        except _NO_ROOM:
            return
        at = (known.last_seq if known is not None else 0) * step.at // 1000
        for pause_s in _FORK_AGAIN_S:
            with suppress(Unreachable):  # it may be there all the same, and another one is another fork
                made = await self.clients[0].fork(original, at_sequence=at)
                self.know(made.session_id, self.work[original], original)
                return
            await anyio.sleep(pause_s)

    def know_all_forks(self) -> None:
        """Those too of which no client was told, because the line was cut meanwhile."""
        for session_id, original in self.facts.forks():
            if session_id not in self.sessions:
                self.know(session_id, self.work[original], original)

    async def _close(self, step: steps.Close) -> None:
        session_id = self.id_of(step.session)
        if step.delete:
            self.deleted.add(session_id)  # from here on it may be gone at any moment
            await self.clients[0].delete(session_id)
        else:
            await self.clients[0].close(session_id)

    async def _stop(self, step: steps.Stop) -> None:
        pid = self.keeper.ask_to_end()
        if step.how in (How.SIGTERM, How.SIGINT):
            self.keeper.signal(signal.Signals[step.how])
        else:
            await self.clients[0].stop_daemon(pid, AgentsAtStop.Value(f"AGENTS_AT_STOP_{step.how.name}"))

    # ------------------------------------------------------------ clients that watch

    def _watch(self, step: steps.Watch) -> None:
        session_id = self.id_of(step.session)
        known = self.facts.session(session_id)
        after = (known.last_seq if known is not None else 0) * step.after // 1000
        viewer = Viewer(f"{step.way} {len(self.viewers)}", session_id, step.way, after)
        self.viewers.append(viewer)
        if step.way is Way.PROCESS:
            viewer.process = ViewerProcess(self.daemon, session_id, after, self.root / f"view{len(self.viewers)}")
        else:
            self.tasks.start_soon(viewer.watch, self.daemon, self.cut_paths, identity_of(step.client))

    @property
    def client_processes(self) -> list[ViewerProcess]:
        return [viewer.process for viewer in self.viewers if viewer.process is not None]

    # ------------------------------------------------------------ faults

    def _kill(self, step: steps.Kill) -> None:
        if step.target is Target.DAEMON:
            self.keeper.kill()
        elif step.target is Target.CLIENT:
            for process in self.client_processes[:1]:
                process.signal(signal.SIGKILL)
        else:
            if step.target is Target.HOLDER:
                self.torn.add(self.id_of(step.session))
            for pid in self._pids(step.target, step.session):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _pids(self, target: Target, session: int) -> list[int]:
        """The processes at work for a session."""
        if target is Target.DAEMON:
            return [self.keeper.pid]
        known = self.facts.session(self.id_of(session))
        found: list[int] = []
        for run in self.facts.runs(known.key) if known is not None else ():
            holder = holder_pid(run.directory) if run.directory.exists() else None
            if holder is not None:
                agents = [one.pid for one in descendants(holder) if one.parent == holder]
                found += [holder] if target is Target.HOLDER else agents
        return found

    def _pause(self, step: steps.Pause) -> None:
        if step.target is Target.CLIENT:
            for process in self.client_processes[:1]:
                process.signal(signal.SIGSTOP)
            self.tasks.start_soon(self._let_clients_go, step.ms)
            return
        for pid in self._pids(step.target, step.session):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                self.paused.add(pid)
                self.tasks.start_soon(self._let_go, pid, step.ms)

    def _hang(self, step: steps.Hang) -> None:
        for pid in self._pids(Target.AGENT, step.session):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                self.paused.add(pid)

    async def _let_go(self, pid: int, ms: int) -> None:
        await anyio.sleep(ms / 1000)
        self.paused.discard(pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    async def _let_clients_go(self, ms: int) -> None:
        await anyio.sleep(ms / 1000)
        for process in self.client_processes:
            process.signal(signal.SIGCONT)

    async def _fill(self, ms: int) -> None:
        self.keeper.was_short = True
        filler = fill(self.daemon.root)
        await anyio.sleep(ms / 1000)
        filler.unlink()

    async def _lock_database(self, ms: int) -> None:
        self.keeper.was_short = True
        self.acting += 1
        # Not by the standard module: a second copy of SQLite in one process undoes the locks of the first.
        locking = apsw.Connection(str(self.daemon.paths.database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            locking.set_busy_timeout(1000)
            locking.execute("BEGIN IMMEDIATE")
            await anyio.sleep(ms / 1000)
        except (apsw.BusyError, *_NO_ROOM):
            return  # or the daemon has it just now
        finally:
            locking.close()
            self.acting -= 1
