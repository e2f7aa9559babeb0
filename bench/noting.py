"""What it costs a turn that its worktree is noted at its beginning and its end, in a repository of 20,000 files."""

import json
import subprocess
import time
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.to_thread

from bench.figure import Effort, Figure, Judged, median
from bench.stage import BOUND_S, running_daemon
from betcode.client import Client
from betcode.git.command import Git
from betcode.git.snapshots import PrivateObjects, ground_of, take
from betcode.v1 import agent_pb2 as v1

_FILES = 20_000
_TURNS = 20
_LIMIT_BYTES = 10 * 1024 * 1024
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")


async def measure(effort: Effort) -> list[Figure]:
    repository = effort.root / "repository"
    await anyio.to_thread.run_sync(_make, repository, effort.size(_FILES))
    status, looks = await _looks(effort, repository)
    off, on = effort.root / "off", effort.root / "on"
    for state_dir, snapshots in ((off, False), (on, True)):
        (state_dir / "config").mkdir(parents=True)
        (state_dir / "config" / "settings.json").write_text(json.dumps({"worktree": {"snapshots": snapshots}}))
    without: list[float] = []
    noted: list[float] = []
    async with running_daemon(off) as plain, running_daemon(on) as noting:
        place = str(repository)
        talks = [_Talk(daemon.client, await daemon.flood_session(1, directory=place)) for daemon in (plain, noting)]
        for turn in range(effort.size(_TURNS) + 1):
            effort.progress(f"turn {turn}")
            for talk, took in zip(talks, (without, noted), strict=True):
                (repository / "changed").write_text(f"{time.time_ns()}\n")
                first_words_ms = await talk.first_words_ms(is_noted=took is noted)
                if turn:  # the first starts the agent
                    took.append(first_words_ms)
    return [
        Figure(
            f"a message to its first words, {name}, in a repository of {effort.size(_FILES):,} files",
            "the same without snapshots",
            baseline,
            measured,
            target,
            "ms",
            Judged.OVER_BASELINE,
        )
        for name, baseline, measured, target in (
            ("median", median(without), median(noted), 10.0),
            ("slowest", max(without), max(noted), 50.0),
        )
    ] + [Figure("one snapshot of it", "git status", median(status), median(looks), 500.0, "ms", Judged.OVER_BASELINE)]


async def _looks(effort: Effort, repository: Path) -> tuple[list[float], list[float]]:
    git, objects = Git({"PATH": "/usr/bin:/bin", "HOME": str(effort.root)}), PrivateObjects(effort.root / "objects")
    ground = await ground_of(git, str(repository))
    assert ground is not None
    status: list[float] = []
    looks: list[float] = []
    for _ in range(max(effort.runs, 3)):
        (repository / "changed").write_text(f"{time.time_ns()}\n")
        began = time.perf_counter()
        await git.run("status", "--porcelain", at=repository)
        middle = time.perf_counter()
        await take(git, ground, objects, _LIMIT_BYTES)
        status.append((middle - began) * 1e3)
        looks.append((time.perf_counter() - middle) * 1e3)
    return status, looks


class _Talk:
    """A session of the demo agent that answers each message with one word."""

    def __init__(self, client: Client, session: str) -> None:
        self._client = client
        self._session = session
        self._position = 0

    async def first_words_ms(self, *, is_noted: bool) -> float:
        """From sending a message until the first words of its answer are here; returns when all is at rest."""
        took_ms = 0.0
        with anyio.fail_after(BOUND_S):
            began = time.perf_counter()
            sent = await self._client.send(self._session, "go")
            async with aclosing(self._client.follow(self._session, self._position or sent.sequence)) as events:
                async for event in events:
                    self._position = event.sequence or self._position
                    if event.HasField("text_delta") and not took_ms:
                        took_ms = (time.perf_counter() - began) * 1e3
                    if event.status_change.status == v1.IDLE and event.sequence > sent.sequence:
                        break
            if is_noted:  # the next turn shall meet no snapshot but its own; this one is answered when all are done
                async with aclosing(self._client.diffs.of_session(self._session, counts=True)) as chunks:
                    async for _ in chunks:
                        pass
        return took_ms


def _make(repository: Path, files: int) -> None:
    for number in range(files):
        directory = repository / f"part-{number // 100}"
        if number % 100 == 0:
            directory.mkdir(parents=True)
        (directory / f"file-{number}").write_text(f"{number}\n" * 20)
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "all of it")):
        subprocess.run(["git", *_WHO, *arguments], cwd=repository, check=True, timeout=BOUND_S)
