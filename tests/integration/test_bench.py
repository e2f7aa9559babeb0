"""The benches still run, and say what they found; how quick anything is, is for people to judge."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from betcode.client.address import grpc_target
from support.patience import PATIENCE_S
from support.providers.claude_world import demo_sessions, demo_talk

ROOT = Path(__file__).parent.parent.parent


def test_benches_run_and_give_every_column() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bench",
            "intake",
            "replay",
            "holding",
            "searching",
            "rules",
            "asking",
            "noting",
            "kinds",
            "--quick",
            "--json",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(figures) == 22
    for figure in figures:
        assert figure["measured"] > 0
        assert figure["baseline"] > 0
        assert {"name", "ratio", "target", "reached", "unit", "baseline_is"} <= figure.keys()


def test_an_unknown_bench_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "speed"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert "there is no speed" in done.stderr


@pytest.mark.anyio
async def test_the_clock_starts_with_the_agent_and_not_with_who_is_present(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, flood=100)
        argv = [sys.executable, "-m", "bench.followers", grpc_target(daemon.paths.socket), talk.session_id, "1"]
        with anyio.fail_after(PATIENCE_S):
            async with await anyio.open_process(argv, cwd=ROOT, stderr=None) as follower:
                assert follower.stdout is not None
                said = BufferedByteReceiveStream(follower.stdout)
                assert await said.receive_until(b"\n", 1000) == b"{}"
                turn = await talk.turn("go")
                seen = json.loads(await said.receive_until(b"\n", 1000))
    first = next(event.text_delta.text for event in turn if event.text_delta.text)
    assert seen["began_ns"] == int(first.split()[1]), "when the agent said it"
    assert seen["began_ns"] < seen["ended_ns"]
    assert seen["events"] >= 100
