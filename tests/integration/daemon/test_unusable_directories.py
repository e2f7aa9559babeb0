"""The directory of one session cannot be used any more: that session says so, and the daemon and others go on."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.daemon.process import Daemon, obedient_daemon
from support.daemon.stream import conversation, is_idle, text_of

pytestmark = pytest.mark.anyio


def gone(link: Path) -> None:
    shutil.rmtree(link.resolve())


def a_file(link: Path) -> None:
    gone(link)
    link.unlink()
    link.mkdir()
    (link / "project").touch()


def unreachable(link: Path) -> None:
    """An error that is neither "not found" nor "not a directory", for root too, as EACCES, ESTALE and EIO are."""
    link.unlink()
    link.symlink_to("/" + 300 * "x")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (gone, "no longer exists"),
        (a_file, "is no longer a directory"),
        (unreachable, "cannot be used (File name too long)"),
    ],
    ids=["gone", "a-file", "unreachable"],
)
async def test_a_directory_that_cannot_be_used_stops_only_its_own_session(
    tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    (tmp_path / "real" / "project").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    async with obedient_daemon(tmp_path, settings={"sessions": {"idle_retire": "1s"}}) as daemon:
        async with (
            daemon.agent_service() as agent,
            conversation(agent, working_directory=str(daemon.work)) as other,
            conversation(agent, working_directory=str(link / "project")) as spoilt,
        ):
            await other.say("wait go\nsay done")
            await other.until(lambda event: event.text_delta.text == "waiting")
            spoil(link)
            await spoilt.say("say hello")
            failed = (await spoilt.until("error"))[-1].error
            assert words in failed.message
            assert failed.code == "AGENT_UNAVAILABLE"
            await spoilt.until(is_idle)
            (daemon.work / "go").touch()
            assert text_of(await other.until(is_idle)).endswith("done")
        await serves_after_restart(daemon)


async def serves_after_restart(daemon: Daemon) -> None:
    await daemon.restart()
    async with daemon.agent_service() as agent, conversation(agent, working_directory=str(daemon.work)) as stream:
        assert text_of(await stream.turn("say again")) == "again"
