"""What a person adds to an answer: held against the rules where the command begins, and grants are counted."""

import time
from pathlib import Path

import apsw
import pytest

from betcode.client import open_client
from betcode.client.errors import Refused
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import obedient_daemon
from support.daemon.session import is_idle
from support.providers.claude_world import obedient_talk
from support.rules.files import user_rules, write_rules

pytestmark = pytest.mark.anyio


async def test_an_edited_command_is_held_against_the_rules_where_it_would_begin(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(
            user_rules(daemon), ask=["Read(./private/notes.txt)"], deny=["Read(./private/secret.txt)"], allow=["Bash"]
        )
        talk = await obedient_talk(daemon, client)
        await talk.say("peek private")
        request = await talk.asked()
        edited = v1.PermissionResponse(decision=v1.ALLOW_WITH_EDIT, updated_input_json='{"command": "cat secret.txt"}')
        with pytest.raises(Refused, match="A rule denies the edited input"):
            await client.answer(request.request_id, edited)
        edited.updated_input_json = '{"command": "cat other.txt"}'
        await client.answer(request.request_id, edited)
        await talk.until(is_idle)


async def test_an_answer_makes_no_grant_past_the_limit_and_the_prompt_stays_open(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        with apsw.Connection(str(daemon.paths.database)) as db, db:
            [(key,)] = db.execute("SELECT key FROM sessions WHERE session_id = ?", (talk.session_id,)).fetchall()
            db.executemany(
                "INSERT INTO permission_grants (session, tool_name, pattern, action, created_ns, granted_by,"
                " request_id) VALUES (?, 'Bash', ?, 'allow', ?, '', '')",
                [(key, f"Bash(tool{number} *)", time.time_ns()) for number in range(1000)],
            )
        await talk.say("tool")
        request = await talk.asked()
        granting = v1.PermissionResponse(decision=v1.ALLOW_SESSION, grant_pattern="Bash(touch *)")
        with pytest.raises(Refused, match="1000 grants already"):
            await client.answer(request.request_id, granting)
        assert len(await client.pending(talk.session_id)) == 1
        await client.answer_permission(request.request_id, v1.ALLOW_ONCE)
        await talk.until(is_idle)
