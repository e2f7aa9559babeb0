"""`betcode version`, `betcode features`, and messages about incompatible versions."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import CompletedProcess

import anyio.to_thread
import pytest

from betcode._version import __version__
from betcode.domain.release.compatibility import AGENTS
from betcode.domain.release.features import FEATURES
from betcode.domain.values.identifiers import new_session_id
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2
from support.daemon.other_release import OtherDaemon, said, serving, taken
from support.daemon.process import AGENT_VERSION, agent_program
from support.processes.command import Shell

OUTDATED = OtherDaemon(
    said(server="9.0.0", least="9.0.0"),
    version_pb2.NegotiateResponse(
        rejection_reason=f"Client too old: {__version__} < required 9.0.0", upgrade_url="https://example.org/upgrade"
    ),
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    shell = Shell(tmp_path_factory.mktemp("shell"))
    try:
        yield shell
    finally:
        shell.daemon.end_everything()


class Elsewhere:
    """Commands against a daemon of the test's own."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    async def run(self, *arguments: str) -> "CompletedProcess[str]":
        return await anyio.to_thread.run_sync(lambda: self._shell.run(*arguments, "--no-start"))


@asynccontextmanager
async def against(root: Path, other: OtherDaemon) -> AsyncIterator[Elsewhere]:
    async with serving(root, other):
        yield Elsewhere(Shell(root, obedient=False))


def test_without_a_daemon_the_client_says_its_version_and_starts_none(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    done = shell.run("version")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"betcode  {__version__}", "daemon   not running"]
    assert shell.json("version", "--json")["daemon"] is None
    assert not shell.paths.socket.exists()


def test_the_versions_of_all_three_are_shown(shell: Shell) -> None:
    assert shell.run("daemon", "start").returncode == 0
    found = shell.json("version", "--json")
    while found["agent"] is None:  # on a busy machine it may not have said it yet
        found = shell.json("version", "--json")
    assert found["client"]["version"] == __version__
    assert (found["daemon"]["version"], found["daemon"]["api_version"]) == (__version__, "v1")
    assert (found["agent"]["version"], found["agent"]["compatibility"]) == (AGENT_VERSION, "FULLY_COMPATIBLE")
    assert found["accepted"]
    assert found["warnings"] == []
    done = shell.run("version")
    assert f"agent    Claude Code {AGENT_VERSION}, fully compatible" in done.stdout
    assert done.stderr == ""


def test_every_feature_is_listed_with_its_state(shell: Shell) -> None:
    listed = {each["name"]: each for each in shell.json("features", "--json")["features"]}
    assert set(listed) == {feature.name for feature in FEATURES}
    assert listed["context_compaction"]["enabled"]
    assert listed["worktree_management"]["built"]
    assert not all(each["built"] for each in listed.values())
    lines = shell.run("features").stdout.splitlines()
    assert len(lines) == len(FEATURES) + 1
    assert any(line.split()[:3] == ["event_batching", "on", "stable"] for line in lines)


def test_compatible_versions_cause_no_warning(shell: Shell) -> None:
    done = shell.run("session", "list")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.anyio
@pytest.mark.behaviour("version.client.too-old")
@pytest.mark.parametrize("command", [("run", "hello"), ("session", "list"), ("features",)])
async def test_a_client_that_is_too_old_says_so_and_leaves(tmp_path: Path, command: tuple[str, ...]) -> None:
    OUTDATED.calls.clear()
    async with against(tmp_path, OUTDATED) as shell:
        done = await shell.run(*command)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"Client too old: {__version__} < required 9.0.0" in line
    assert "Upgrade betcode to 9.0.0" in line
    assert "https://example.org/upgrade" in line
    assert set(OUTDATED.calls) == {"GetVersion", "NegotiateCapabilities"}


@pytest.mark.anyio
@pytest.mark.behaviour("version.client.too-old")
async def test_the_versions_can_be_seen_by_a_client_that_is_too_old(tmp_path: Path) -> None:
    async with against(tmp_path, OUTDATED) as shell:
        done = await shell.run("version")
        told = json.loads((await shell.run("version", "--json")).stdout)
    assert done.returncode == 0
    assert "daemon   9.0.0, API v1" in done.stdout
    assert "Upgrade betcode" in done.stderr
    assert not told["accepted"]
    assert "too old" in told["reason"]


@pytest.mark.anyio
@pytest.mark.behaviour("version.client.api-mismatch")
async def test_another_api_is_warned_of_once_and_tried(tmp_path: Path) -> None:
    other = OtherDaemon(said(api="v2", server="2.0.0"), taken("Untested client version"))
    async with against(tmp_path, other) as shell:
        done = await shell.run("session", "list")
    assert done.returncode == 0
    api, untested = done.stderr.splitlines()
    assert "uses API 'v2'" in api
    assert "Untested client version" in untested
    assert other.calls[-1] == "ListSessions"


@pytest.mark.behaviour("version.client.incompatible-agent")
def test_an_agent_that_is_too_old_ends_a_run_with_the_reason_and_the_way_out(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    agent_program(tmp_path, version="0.9.0")
    reason = f"Claude Code v0.9.0 < required v{AGENTS['claude'].minimum}"
    try:
        assert shell.run("daemon", "start").returncode == 0
        while shell.json("version", "--json")["agent"] is None:
            pass  # on a busy machine it may not have said it yet
        done = shell.run("run", "hello")
        assert done.returncode == 1
        assert done.stderr.count(reason) == 1
        assert AGENTS["claude"].upgrade_url in done.stderr
        listed = shell.run("session", "list", "--json")
        assert listed.returncode == 0
        assert json.loads(listed.stdout)["total"] == 0, "nothing is left of it"
        assert listed.stderr.count(reason) == 1
        assert shell.run("run", "--provider", "demo", "hello").returncode == 0, "another agent works"
    finally:
        shell.daemon.end_everything()


@pytest.mark.behaviour("feature.client.disabled-message")
def test_a_command_of_a_feature_that_is_off_says_that_it_requires_configuration(tmp_path: Path) -> None:
    shell = Shell(tmp_path, settings={"feature_flags": {"context_compaction": False, "event_batching": False}})
    try:
        assert shell.run("run", "say hello").stdout == "hello\n", "without batches, events come one by one"
        session = shell.json("session", "list", "--json")["sessions"][0]["id"]
        done = shell.run("session", "compact", session)
        assert done.returncode == 5
        assert "requires configuration" in done.stderr
        assert "feature_flags.context_compaction" in done.stderr
    finally:
        shell.daemon.end_everything()


@pytest.mark.anyio
@pytest.mark.behaviour("unknown-fields.client.ignored")
async def test_additions_of_a_later_daemon_are_ignored(tmp_path: Path) -> None:
    later = b"\xf2\x3f\x05later"
    kind = v1.AgentEvent.FromString(v1.AgentEvent(sequence=1).SerializeToString() + later)
    text = v1.AgentEvent(sequence=2, text_delta=v1.TextDelta(text="hello\n", is_complete=True, message_id="m"))
    known = v1.AgentEvent.FromString(text.SerializeToString() + later)
    version = version_pb2.GetVersionResponse.FromString(said().SerializeToString() + later)
    async with against(tmp_path, OtherDaemon(version, events=[kind, known])) as shell:
        done = await shell.run("session", "follow", new_session_id())
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


@pytest.mark.anyio
@pytest.mark.behaviour("deprecation.client.warning-once", "deprecation.client.urgent")
async def test_deprecations_are_shown_beside_the_result(tmp_path: Path) -> None:
    gone = version_pb2.DeprecationWarning(
        feature="old_format",
        removal_version="0.3.0",
        migration_url="https://example.org/m",
        severity=version_pb2.URGENT,
    )
    trailer = ("x-betcode-deprecation-bin", gone.SerializeToString())
    events = [v1.AgentEvent(deprecation=gone), v1.AgentEvent(deprecation=gone)]
    async with against(tmp_path, OtherDaemon(trailers=(trailer, trailer), events=events)) as shell:
        listed = await shell.run("session", "list")
        followed = await shell.run("session", "follow", new_session_id())
    assert listed.stderr.splitlines()[0] == "ACTION REQUIRED"
    assert listed.stderr.count("will stop working in 0.3.0") == 1
    assert followed.stdout.count("ACTION REQUIRED") == 1
