"""The agent's version: read once, again when the program is another, and never at the cost of waiting for ever."""

import os
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from betcode.domain.errors import AgentUnavailable
from betcode.holder.platform import processes
from betcode.providers import versions as version
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.versions import AgentVersions
from support.daemon.process import becomes_true
from support.patience import PATIENCE_S
from support.providers.claude import CLAUDE, needs_claude
from support.storage.hung_disk import hung_disk

PATH = {"PATH": "/usr/bin:/bin"}
PATIENT = version.Bounds(PATIENCE_S, PATIENCE_S)


def program(path: Path, script: str) -> Path:
    """A program that notes each time it is run."""
    path.write_text(f"#!/bin/sh\necho run >> {path}.runs\n{script}\n")
    path.chmod(0o755)
    return path


def runs(path: Path) -> int:
    noted = Path(f"{path}.runs")
    return len(noted.read_text().split()) if noted.exists() else 0


@pytest.mark.behaviour("version.get.agent-parsed")
@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("claude v1.0.22", "1.0.22"),
        ("2.1.6 (Claude Code)\n", "2.1.6"),
        ("claude v1.0.22 (anthropic-2024-12-01)", "1.0.22"),
        ("2.2.0-beta.1 (Claude Code)", "2.2.0-beta.1"),
        ("Claude Code\n3.0.0\n", "3.0.0"),
        ("", ""),
        ("no version here, not even 7", ""),
    ],
)
def test_the_version_is_found_in_what_is_printed(printed: str, found: str) -> None:
    assert version.version_in(printed) == found


@needs_claude
@pytest.mark.behaviour("version.get.agent-parsed")
def test_the_real_agent_says_its_version() -> None:
    assert CLAUDE is not None
    said = version.read_version(CLAUDE, PATH, PATIENCE_S)
    assert [int(part) for part in said.split(".")] >= [2, 1]


@pytest.mark.anyio
@pytest.mark.behaviour("version.get.agent-cached")
async def test_a_program_is_asked_once_however_many_want_to_know(tmp_path: Path) -> None:
    agent = program(tmp_path / "claude", "echo '2.1.6 (Claude Code)'")
    versions = AgentVersions(PATH, PATIENT)
    said: list[str] = []

    async def ask() -> None:
        said.append(await versions.of(agent))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(ask)
    assert said == ["2.1.6"] * 10
    assert versions.known(agent) == "2.1.6"
    assert runs(agent) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["written over", "put in its place", "pointed elsewhere"])
async def test_a_program_that_was_upgraded_is_asked_again(tmp_path: Path, how: str) -> None:
    first = program(tmp_path / "first", "echo 2.1.6")
    agent = tmp_path / "claude"
    if how == "pointed elsewhere":
        agent.symlink_to(first)
    else:
        program(agent, "echo 2.1.6")
    versions = AgentVersions(PATH, PATIENT)
    assert await versions.of(agent) == "2.1.6"
    match how:
        case "written over":
            program(agent, "echo 2.1.77 # upgraded")
        case "put in its place":
            program(tmp_path / "new", "echo 2.1.77").replace(agent)
        case _:
            program(tmp_path / "second", "echo 2.1.77")
            agent.unlink()
            agent.symlink_to(tmp_path / "second")
    assert versions.known(agent) is None
    assert await versions.of(agent) == "2.1.77"


@pytest.mark.anyio
async def test_a_program_that_hangs_is_given_up_and_ended_with_what_it_began(tmp_path: Path) -> None:
    agent = program(tmp_path / "claude", f"sleep 86399 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/own; wait")
    versions = AgentVersions(PATH, version.Bounds(read_s=1.0, wait_s=0.01))
    with anyio.fail_after(PATIENCE_S):
        while versions.known(agent) is None:  # the reading itself ends by its own bound
            assert await versions.of(agent) == ""  # nobody waits for it
    assert versions.known(agent) == ""
    assert await versions.of(agent) == ""
    assert runs(agent) == 1
    left = [
        int(words)
        for name in ("own", "child")
        if (tmp_path / name).exists() and (words := (tmp_path / name).read_text())
    ]
    await becomes_true(lambda: not [pid for pid in left if (one := processes().get(pid)) and not one.zombie])


@pytest.mark.anyio
async def test_who_lets_go_leaves_no_program_behind(tmp_path: Path) -> None:
    agent = program(tmp_path / "claude", f"echo $$ > {tmp_path}/own; exec sleep 86399")
    versions = AgentVersions(PATH, version.Bounds(PATIENCE_S, wait_s=0.01))
    with anyio.fail_after(PATIENCE_S):
        while not ((tmp_path / "own").exists() and (tmp_path / "own").read_text()):
            assert await versions.of(agent) == ""
    versions.close()
    pid = int((tmp_path / "own").read_text())
    await becomes_true(lambda: (one := processes().get(pid)) is None or one.zombie)


@pytest.mark.anyio
async def test_a_program_that_said_nothing_is_asked_again_after_a_while(tmp_path: Path) -> None:
    now = [0.0]
    agent = program(tmp_path / "claude", "exit 1")
    versions = AgentVersions(PATH, PATIENT, clock=lambda: now[0])
    assert [await versions.of(agent), await versions.of(agent)] == ["", ""]
    assert runs(agent) == 1
    now[0] = version.AGAIN_AFTER_S + 1
    assert await versions.of(agent) == ""
    assert runs(agent) == 2


def test_a_program_that_floods_its_output_is_read_only_as_far_as_needed(tmp_path: Path) -> None:
    agent = program(tmp_path / "claude", "exec tr '\\0' x < /dev/zero")
    child = version.asked(agent, PATH)
    assert len(version.first_words(child, PATIENCE_S)) <= 2 * 4096
    child.end_now()


@pytest.mark.anyio
async def test_what_cannot_be_run_has_no_version(tmp_path: Path) -> None:
    agent = tmp_path / "claude"
    versions = AgentVersions(PATH, PATIENT)
    assert await versions.of(agent) == ""
    agent.write_bytes(b"\x7fELF nonsense")
    agent.chmod(0o755)
    assert await versions.of(agent) == ""


@pytest.mark.anyio
async def test_the_event_loop_runs_on_while_a_program_is_asked(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    agent = program(tmp_path / "claude", f"read word < {tmp_path}/gate; echo $word")
    versions = AgentVersions(PATH, PATIENT)
    said: list[str] = []

    async def ask() -> None:
        said.append(await versions.of(agent))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await becomes_true(lambda: runs(agent) == 1)
        assert said == []
        await anyio.to_thread.run_sync((tmp_path / "gate").write_text, "2.1.6\n")
    assert said == ["2.1.6"]


@pytest.mark.anyio
async def test_an_agent_that_is_known_to_be_too_old_is_not_launched(tmp_path: Path) -> None:
    agent = program(tmp_path / "claude", "echo 0.9.0")
    provider = ClaudeProvider(agent, AgentVersions(PATH, PATIENT))
    provider.check({})  # nothing is known of it yet, and nobody waits for it
    assert await provider.version({}) == "0.9.0"
    with pytest.raises(AgentUnavailable) as refused:
        provider.check({})
    assert "Claude Code v0.9.0 < required v" in refused.value.message
    assert refused.value.details["upgrade_url"] in refused.value.message
    program(agent, "echo 2.1.325")
    provider.check({})


async def test_a_disk_that_hangs_holds_up_nobody_who_asks_for_the_version(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    agent = program(tmp_path / "bin" / "claude", "echo 2.1.6")
    for provider in (
        ClaudeProvider(agent, AgentVersions(PATH, version.Bounds(wait_s=0.01))),
        ClaudeProvider(None, AgentVersions(PATH, version.Bounds(wait_s=0.01))),
    ):
        with hung_disk(tmp_path / "bin") as disk:
            for _ in range(4):
                assert await provider.version({"PATH": str(tmp_path / "bin")}) == ""
            assert disk.on_a_loop == []
