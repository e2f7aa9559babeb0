"""State directories of earlier versions: the daemon opens them, and their sessions continue.

Each archive in earlier_states/ has the database and journals of a daemon that was killed together with its agents:
`0.1.0` is of that release, `before-engine` of the last commit with the package `sessions`. The four sessions use the
demo agent: one is idle, one is closed, one waits for an answer to a question and one for a permission.
"""

import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from betcode.client import open_client
from betcode.storage.sqlite.epochs import kernel_boot_id
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import running_daemon
from support.daemon.session import Talk, assert_whole, is_idle, settled_text

pytestmark = pytest.mark.anyio

ARCHIVES = sorted(Path(__file__).parent.glob("earlier_states/*.tar.xz"))


def unpack(archive: Path, root: Path) -> None:
    state = root / "state"
    state.mkdir(mode=0o700)
    with tarfile.open(archive) as packed:
        packed.extractall(state, filter="data")
    database = apsw.Connection(str(state / "betcode.db"))
    # The machine was not restarted since: after a restart, sequence numbers would continue behind a gap.
    database.execute("UPDATE meta SET value = ? WHERE name = 'boot_id'", (kernel_boot_id(),))
    # The prompts of the archive expired a week after it was made.
    database.execute("UPDATE pending_permissions SET expires_at = ?", (time.time_ns() + 10**15,))
    database.close()


def is_number(number: int) -> Callable[[v1.AgentEvent], bool]:
    return lambda event: event.sequence == number


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
async def test_sessions_of_an_earlier_version_continue(tmp_path: Path, archive: Path) -> None:
    unpack(archive, tmp_path)
    async with running_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        listed = {each.name: each for each in (await client.list_sessions()).sessions}
        assert set(listed) == {"first", "closed", "question", "permission"}
        talks = {name: Talk(client, each.id) for name, each in listed.items()}
        for name in ("first", "closed"):
            await talks[name].until(is_number(listed[name].last_sequence))
            assert "built-in demo agent" in settled_text(talks[name].events)
            assert_whole(talks[name].events)
        assert listed["closed"].status == "closed"
        assert "built-in demo agent" in settled_text(await talks["first"].turn("Hello there."))
        assert_whole(talks["first"].events)
        # The agents of both open turns were killed. New ones ask the same again, and the turns go on.
        again = (await talks["permission"].until(lambda event: event.permission_request.supersedes != ""))[-1]
        await talks["permission"].answer(again.permission_request, allow=False)
        await talks["permission"].until(is_idle)
        assert_whole(talks["permission"].events)
        again = (await talks["question"].until(lambda event: event.user_question.supersedes != ""))[-1]
        question = again.user_question
        await client.answer_question(question.question_id, {question.question: question.options[0].label})
        await talks["question"].until(is_idle)
        assert_whole(talks["question"].events)
