"""How soon 200 worktrees of one repository are listed, and how long it takes to go from one to another."""

import subprocess
import time
from pathlib import Path

from grpc import aio

from bench.figure import Effort, Figure, Judged, median
from bench.stage import running_daemon
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub

_WORKTREES = 200
_TIMES = 21
_AS_ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


async def measure(effort: Effort) -> list[Figure]:
    number = effort.size(_WORKTREES)
    repository = effort.root / "shop"
    effort.progress(f"making {number} worktrees")
    _make(repository, number)
    listing: list[float] = []
    listed: list[float] = []
    switched: list[float] = []
    adding: list[float] = []
    created: list[float] = []
    async with running_daemon(effort.root / "state") as daemon, aio.insecure_channel(daemon.address) as channel:
        worktrees = WorktreeServiceStub(channel)
        request = v1.ListWorktreesRequest(repo_path=str(repository))
        known = (await worktrees.ListWorktrees(request)).worktrees  # they are taken in the first time
        for each in known[1:3]:
            await worktrees.SwitchWorktree(v1.SwitchWorktreeRequest(worktree_id=each.id, start_as=_DEMO))
        for run in range(max(3, effort.size(_TIMES))):
            listing.append(_git_ms(repository, "worktree", "list", "--porcelain", "-z"))
            began = time.perf_counter()
            answer = await worktrees.ListWorktrees(request)
            listed.append((time.perf_counter() - began) * 1e3)
            assert len(answer.worktrees) == number + 1
            began = time.perf_counter()
            target = v1.SwitchWorktreeRequest(worktree_id=known[1 + run % 2].id)
            await worktrees.SwitchWorktree(target)
            switched.append((time.perf_counter() - began) * 1e3)
        for run in range(max(3, effort.size(_TIMES) // 3)):
            place = effort.root / f"by-git-{run}"
            adding.append(_git_ms(repository, "worktree", "add", "-q", "-b", f"git-{run}", str(place)))
            began = time.perf_counter()
            await worktrees.CreateWorktree(
                v1.CreateWorktreeRequest(
                    repo_path=str(repository),
                    branch=f"ours-{run}",
                    path=str(effort.root / f"by-us-{run}"),
                    create_branch=True,
                    skip_setup=True,
                )
            )
            created.append((time.perf_counter() - began) * 1e3)
    among = f"among {number:,} worktrees"
    git_lists, git_adds = "git worktree list", "git worktree add"
    return [
        Figure(f"listing {number:,} worktrees", git_lists, median(listing), median(listed), 200, "ms"),
        Figure(f"switching {among}", git_lists, median(listing), median(switched), 100, "ms", Judged.OVER_BASELINE),
        Figure(
            f"making one {among}, without setup",
            git_adds,
            median(adding),
            median(created),
            300,
            "ms",
            Judged.OVER_BASELINE,
        ),
    ]


_DEMO = v1.StartAs(provider="demo")


def _make(repository: Path, number: int) -> None:
    repository.mkdir(parents=True)
    _git(repository, "init", "-q", "-b", "main")
    (repository / "README").write_text("hello\n")
    _git(repository, "add", "-A")
    _git(repository, *_AS_ADA, "commit", "-q", "-m", "a beginning")
    for one in range(number):
        _git(repository, "worktree", "add", "-q", "-b", f"branch-{one}", str(repository.parent / f"tree-{one}"))


def _git_ms(at: Path, *arguments: str) -> float:
    began = time.perf_counter()
    _git(at, *arguments)
    return (time.perf_counter() - began) * 1e3


def _git(at: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=at, check=True, capture_output=True)
