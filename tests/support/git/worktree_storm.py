"""Several clients, people with their own git, and somebody who kills: all at once, on the same repositories."""

import os
import random
import signal
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import grpc
from grpc import aio

from betcode.holder.platform import descendants
from betcode.v1 import agent_pb2
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from support.daemon.process import Daemon
from support.git.repositories import git
from support.git.worktree_users import BRANCHES, People
from support.patience import PATIENCE_S
from support.plugins.leftovers import leftovers

if TYPE_CHECKING:
    from betcode.v1.agent_pb2_grpc import AgentServiceAsyncStub  # known to the stub files only
    from betcode.v1.worktree_pb2_grpc import WorktreeServiceAsyncStub

_EXPECTED = {
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAVAILABLE,  # it was killed, or stops
    grpc.StatusCode.CANCELLED,
}


@dataclass
class Storm:
    daemon: Daemon
    people: People
    chance: random.Random
    faults: list[str] = field(default_factory=list)
    serving: anyio.Event = field(default_factory=anyio.Event)
    begun: anyio.Event = field(default_factory=anyio.Event)  # when a client asks for something; a new one each time

    async def run(self, operations: int, clients: int = 3) -> None:
        """So many of each client, while others do as they please; then everything rests."""
        self.serving.set()
        async with anyio.create_task_group() as others:
            others.start_soon(self._probe)
            others.start_soon(self.people.work)
            others.start_soon(self.people.work)
            others.start_soon(self._kill)
            async with anyio.create_task_group() as working:
                for _ in range(clients):
                    working.start_soon(self._client, operations)
            others.cancel_scope.cancel()

    # ------------------------------------------------------------ clients

    async def _client(self, operations: int) -> None:
        done = 0
        while done < operations:
            with anyio.fail_after(PATIENCE_S):
                await self.serving.wait()
            async with self.daemon.channel() as channel:
                calls, agents = WorktreeServiceStub(channel), AgentServiceStub(channel)
                while done < operations and self.serving.is_set():
                    done += 1
                    await self._one(calls, agents)

    async def _one(self, calls: "WorktreeServiceAsyncStub", agents: "AgentServiceAsyncStub") -> None:
        choices: list[tuple[int, Callable[..., Awaitable[object]]]] = [
            (6, self._create),
            (3, self._switch_and_say),
            (3, self._remove),
            (5, self._force),
            (4, self._restore),
            (3, self._list),
            (1, self._set_up),
            (2, self._diff),
        ]
        operation = self.chance.choices([each for _, each in choices], [weight for weight, _ in choices])[0]
        name = operation.__name__
        self.begun.set()
        self.begun = anyio.Event()
        try:
            with anyio.fail_after(PATIENCE_S):
                await operation(calls, agents)
            self.people.counts[name] += 1
        except aio.AioRpcError as error:
            self.people.counts[f"{name}: {error.code().name}"] += 1
            self.people.tell(f"{name}: {error.code().name}: {error.details()}")
            if error.code() not in _EXPECTED:
                self.faults.append(f"{name}: {error.code().name}: {error.details()}")
        except TimeoutError:
            self.faults.append(f"{name}: no answer within {PATIENCE_S} s")

    async def _any(self, calls: "WorktreeServiceAsyncStub") -> v1.WorktreeInfo | None:
        found = await calls.ListWorktrees(v1.ListWorktreesRequest(repo_path=str(self.people.any_repository())))
        others = [each for each in found.worktrees if not each.is_main]
        return self.chance.choice(others) if others else None

    async def _create(self, calls: "WorktreeServiceAsyncStub", _: "AgentServiceAsyncStub") -> None:
        repository = self.people.any_repository()
        branch = f"b{self.chance.randrange(BRANCHES)}"
        has = (repository / ".git" / "refs" / "heads" / branch).exists()
        how = self.chance.choice((v1.ON_SETUP_FAILURE_KEEP, v1.ON_SETUP_FAILURE_ROLL_BACK))
        await calls.CreateWorktree(
            v1.CreateWorktreeRequest(
                repo_path=str(repository), branch=branch, create_branch=not has, on_setup_failure=how
            )
        )

    async def _switch_and_say(self, calls: "WorktreeServiceAsyncStub", agents: "AgentServiceAsyncStub") -> None:
        chosen = await self._any(calls)
        if chosen is not None:
            start_as = v1.StartAs(provider="demo", environment={"BETCODE_DEMO_FLOOD": "3"})
            request = v1.SwitchWorktreeRequest(worktree_id=chosen.id, start_as=start_as)
            session = (await calls.SwitchWorktree(request)).session_id
            said = agent_pb2.AgentRequest(message=agent_pb2.UserMessage(content="go"))
            await agents.Submit(agent_pb2.SubmitRequest(session_id=session, request=said))
            if self.chance.random() < 0.5:
                async for _ in agents.DiffSession(agent_pb2.DiffSessionRequest(session_id=session)):
                    pass

    async def _remove(self, calls: "WorktreeServiceAsyncStub", _: "AgentServiceAsyncStub") -> None:
        if (chosen := await self._any(calls)) is not None:
            await calls.RemoveWorktree(v1.RemoveWorktreeRequest(worktree_id=chosen.id))

    async def _force(self, calls: "WorktreeServiceAsyncStub", _: "AgentServiceAsyncStub") -> None:
        if (chosen := await self._any(calls)) is not None:
            await calls.RemoveWorktree(v1.RemoveWorktreeRequest(worktree_id=chosen.id, force=True))

    async def _restore(self, calls: "WorktreeServiceAsyncStub", _: "AgentServiceAsyncStub") -> None:
        repository = str(self.people.any_repository())
        kept = (await calls.ListRemovedWorktrees(v1.ListRemovedWorktreesRequest(repo_path=repository))).removed
        if kept:
            chosen = self.chance.choice(kept)
            await calls.RestoreWorktree(v1.RestoreWorktreeRequest(repo_path=repository, removed_id=chosen.id))

    async def _list(self, calls: "WorktreeServiceAsyncStub", _: "AgentServiceAsyncStub") -> None:
        where = self.chance.choice(("", str(self.people.any_repository())))
        await calls.ListWorktrees(v1.ListWorktreesRequest(repo_path=where))

    async def _set_up(self, calls: "WorktreeServiceAsyncStub", _: "AgentServiceAsyncStub") -> None:
        if (chosen := await self._any(calls)) is not None:
            async for _step in calls.SetUpWorktree(v1.SetUpWorktreeRequest(worktree_id=chosen.id)):
                pass

    async def _diff(self, calls: "WorktreeServiceAsyncStub", _: "AgentServiceAsyncStub") -> None:
        if (chosen := await self._any(calls)) is not None:
            async for _chunk in calls.DiffWorktree(v1.DiffWorktreeRequest(worktree_id=chosen.id)):
                pass

    # ------------------------------------------------------------ who kills, and who asks whether it lives

    async def _kill(self) -> None:
        while True:
            await anyio.sleep(self.chance.uniform(0.05, 1.2))
            if self.chance.random() < 0.4:
                for child in descendants(self.daemon.pid):
                    if self.chance.random() < 0.5:
                        with suppress(OSError):
                            os.kill(child.pid, signal.SIGKILL)
                continue
            self.serving = anyio.Event()
            with anyio.CancelScope(shield=True):
                if self.chance.random() < 0.3:
                    await self.daemon.stop()
                else:
                    self.daemon.kill()
                await self.daemon.start()
                self.serving.set()
            self.people.counts["starts"] += 1
            self.people.tell("the daemon serves again")

    async def _probe(self) -> None:
        """It answers, whatever else goes on: asked whenever a client has begun with something."""
        while True:
            await self.begun.wait()
            event = self.serving
            await event.wait()
            with anyio.move_on_after(PATIENCE_S) as bound:
                answered = await self.daemon.serves()
            if (bound.cancelled_caught or not answered) and self.serving is event and self.daemon.exit_code is None:
                self.faults.append("the daemon did not say that it serves")

    # ------------------------------------------------------------ afterwards

    async def look(self) -> list[str]:
        """What is broken."""
        if self.daemon.exit_code is None:
            await self.daemon.stop()
        await self.daemon.start()
        async with self.daemon.channel() as channel:
            calls = WorktreeServiceStub(channel)
            await self._settled(calls)
            await anyio.to_thread.run_sync(self._look_for_what_was_written, "as it is")
            await self._rows_agree(calls)
            await self._restore_all(calls)
        await anyio.to_thread.run_sync(self._look_for_what_was_written, "restored")
        await self.daemon.stop()
        self._look_for_leftovers()
        return self.faults

    async def _settled(self, calls: "WorktreeServiceAsyncStub") -> None:
        under_way = (v1.WORKTREE_STATE_CREATING, v1.WORKTREE_STATE_REMOVING)
        listed: list[v1.WorktreeInfo] = []
        with anyio.move_on_after(PATIENCE_S / 3):
            while True:
                listed = list((await calls.ListWorktrees(v1.ListWorktreesRequest())).worktrees)
                if all(each.state not in under_way for each in listed):
                    return
                await anyio.sleep(0.05)
        stuck = [(each.name, each.path, each.state, each.trouble) for each in listed if each.state in under_way]
        self.faults.append(f"under way for ever: {stuck}")

    def _look_for_what_was_written(self, when: str) -> None:
        words = {
            each.name: each.read_text() for each in self.people.root.glob("*/f[0-9]*") if each.parent.name != "drafts"
        }
        words |= {each.name: each.read_text() for each in self.people.root.glob(".betcode*/f[0-9]*")}
        reached: dict[Path, set[str]] = {}
        for repository in self.people.repositories:
            try:
                found = git(repository, "rev-list", "--objects", "--all", "--indexed-objects")
                reached[repository] = {line.partition(" ")[2] for line in found.splitlines()}
                git(repository, "fsck", "--connectivity-only", "--no-dangling")
            except subprocess.CalledProcessError as broken:
                self.faults.append(f"{when}: {repository.name} is broken: {broken.stderr}")
                reached[repository] = set()
        for name, each in self.people.written.items():
            if words.get(name) != each.text and name not in reached[each.repository]:
                what = "committed" if each.is_committed else "staged" if each.is_staged else "untracked"
                self.faults.append(f"{when}: {name} is lost: {what} in {each.place.name}")

    async def _rows_agree(self, calls: "WorktreeServiceAsyncStub") -> None:
        for repository in self.people.repositories:
            listed = (await calls.ListWorktrees(v1.ListWorktreesRequest(repo_path=str(repository)))).worktrees
            rows = {(each.path, each.branch) for each in listed if each.state != v1.WORKTREE_STATE_STALE}
            known, entry = set(), {"worktree": "", "branch": ""}
            for line in [*git(repository, "worktree", "list", "--porcelain").splitlines(), ""]:
                if line:
                    key, _, value = line.partition(" ")
                    entry[key] = value
                elif entry["worktree"]:
                    if Path(entry["worktree"], ".git").exists():  # else somebody made only the directory anew
                        known.add((entry["worktree"], entry["branch"].removeprefix("refs/heads/")))
                    entry = {"worktree": "", "branch": ""}
            if rows != known:
                self.faults.append(f"{repository.name}: rows and git do not agree: {sorted(rows ^ known)}")
            if any(each.is_locked for each in listed):
                self.faults.append(f"{repository.name}: locked: {[each.path for each in listed if each.is_locked]}")

    async def _restore_all(self, calls: "WorktreeServiceAsyncStub") -> None:
        kept = (await calls.ListRemovedWorktrees(v1.ListRemovedWorktreesRequest())).removed
        for number, each in enumerate(kept):
            listed = (await calls.ListWorktrees(v1.ListWorktreesRequest(repo_path=each.repo_path))).worktrees
            for other in listed:
                if other.name == each.name:
                    git(Path(each.repo_path), "worktree", "prune")
                    if other.state != v1.WORKTREE_STATE_STALE:
                        continue
            path = str(self.people.root / f"{Path(each.repo_path).name}-back{number}")
            request = v1.RestoreWorktreeRequest(repo_path=each.repo_path, removed_id=each.id, path=path)
            try:
                back = await calls.RestoreWorktree(request, timeout=PATIENCE_S)
                if "Not everything" in back.trouble:
                    self.faults.append(f"{each.name}: {back.trouble}")
            except aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.ALREADY_EXISTS:
                    self.faults.append(f"{each.name} cannot be restored: {error.details()}")

    def _look_for_leftovers(self) -> None:
        for each in self.people.root.glob(".betcode*"):
            self.faults.append(f"left behind: {each.name}")
        for pid in leftovers(self.people.root):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                if "git" in words.split(" ")[0] or "sleep" in words or "sh -c" in words:
                    self.faults.append(f"a process is left: {words}")
