"""What the daemon is put together from, and who can end it."""

import faulthandler
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from betcode.daemon.faults import faults_of
from betcode.daemon.providers import find_providers
from betcode.daemon.stop import EXIT_CANNOT_SERVE, Stop
from betcode.providers.specs import SPECS
from support.patience import PATIENCE_S
from support.storage.hung_disk import hung_disk


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.anyio
async def test_without_a_claude_the_demo_is_the_default(tmp_path: Path) -> None:
    found = find_providers({"PATH": str(tmp_path)}, None)
    assert await found.default_for({}) == "demo"
    assert {"claude", "demo"} <= set(found.providers)


def test_a_kind_of_agent_is_imported_when_it_is_first_asked_for() -> None:
    program = (
        "import sys\n"
        "from betcode.daemon.providers import find_providers\n"
        "found = find_providers({}, None)\n"
        "assert 'demo' in found.providers\n"
        "early = 'betcode.providers.demo.provider' in sys.modules\n"
        "assert found.providers['demo'] is found.providers['demo']\n"
        "print(early, found.providers['demo'].name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("False demo\n", "")


@pytest.mark.parametrize("name", find_providers({}, None).providers)
def test_a_kind_of_agent_stands_under_its_own_name(name: str) -> None:
    assert find_providers({}, None).providers[name].name == name


@pytest.mark.anyio
async def test_a_claude_on_the_path_is_the_default(tmp_path: Path) -> None:
    executable(tmp_path / "claude")
    assert await find_providers({"PATH": str(tmp_path)}, None).default_for({}) == "claude"


@pytest.mark.anyio
async def test_a_claude_that_is_installed_later_is_the_default_from_then_on(tmp_path: Path) -> None:
    found = find_providers({"PATH": str(tmp_path)}, None)
    assert await found.default_for({}) == "demo"
    executable(tmp_path / "claude")
    assert await found.default_for({}) == "claude"


@pytest.mark.anyio
async def test_a_claude_on_the_path_of_a_session_is_its_default(tmp_path: Path) -> None:
    executable(tmp_path / "there" / "claude")
    found = find_providers({"PATH": str(tmp_path)}, None)
    assert await found.default_for({"PATH": str(tmp_path / "there")}) == "claude"
    found.providers["claude"].check({"PATH": str(tmp_path / "there")})
    assert await found.default_for({"PATH": str(tmp_path)}) == "demo"


@pytest.mark.anyio
async def test_a_claude_that_is_named_is_the_default_even_where_it_is_missing(tmp_path: Path) -> None:
    assert await find_providers({}, tmp_path / "nowhere").default_for({}) == "claude"
    assert await find_providers({"BETCODE_CLAUDE_BIN": "~/claude"}, None).default_for({}) == "claude"


@pytest.mark.anyio
async def test_only_the_agent_that_is_counted_on_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # the daemon's own PATH is searched too
    nowhere = {"PATH": str(tmp_path)}
    assert find_providers(nowhere, None).trouble() == ""
    assert "claude" in find_providers(nowhere, tmp_path / "claude").trouble()
    missed = find_providers(nowhere, tmp_path / "claude", default="codex")
    assert missed.trouble().startswith("Codex is not installed")
    assert await missed.default_for(nowhere) == "codex"
    assert find_providers(nowhere, tmp_path / "claude", default="demo").trouble() == ""


@pytest.mark.anyio
async def test_a_path_that_does_not_answer_leaves_the_default_as_the_daemon_found_it(tmp_path: Path) -> None:
    executable(tmp_path / "claude")
    found = find_providers({"PATH": str(tmp_path)}, None)
    with hung_disk(tmp_path) as disk:
        assert await found.default_for({}) == "claude"
        assert disk.on_a_loop == []


@pytest.mark.anyio
async def test_a_failed_store_ends_the_daemon_from_any_thread() -> None:
    stop = Stop()
    try:
        await anyio.to_thread.run_sync(stop.on_fatal, OSError("the disk is gone"))
        with anyio.fail_after(PATIENCE_S):
            await stop.asked.wait()
        assert stop.exit_code == EXIT_CANNOT_SERVE
    finally:
        faulthandler.cancel_dump_traceback_later()


def test_faults_do_nothing_unless_asked_for() -> None:
    faults_of({})("before-commit")


def test_a_fault_ends_the_process_at_the_named_step() -> None:
    program = (
        "from betcode.daemon.faults import faults_of\n"
        "fault = faults_of({'BETCODE_FAULT': 'b:2'})\n"
        "for step in 'abab': print(step, flush=True); fault(step)\n"
        "print('survived')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == ["a", "b", "a", "b"]


def test_every_kind_of_agent_can_be_the_default_and_no_other() -> None:
    assert set(find_providers({}, None).providers) == set(SPECS)
