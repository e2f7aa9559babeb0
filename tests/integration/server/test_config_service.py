"""ConfigService: settings over the API, the rules in force, and what agents say of their MCP servers."""

import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from grpc import aio

from betcode.client import Client, NewConversation, open_client
from betcode.client.errors import Refused
from betcode.config.edit.jsonc_edit import comments
from betcode.domain.permissions.audit import AuditFilter
from betcode.domain.values.identifiers import new_session_id
from betcode.v1 import agent_pb2
from betcode.v1 import config_pb2 as v1
from betcode.v1.config_pb2_grpc import ConfigServiceStub
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.session import Talk, settled_text
from support.providers.claude_world import obedient_talk
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio

COMMENTED = '{\n  // mine\n  "agents": {"turn_limit": 3}, "model": "opus", "elses": 1\n}\n'


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with open_client(daemon.paths) as client:
        yield client


@pytest.fixture(autouse=True)
async def _cleared(daemon: Daemon, client: Client) -> AsyncIterator[None]:
    yield
    daemon.configure({})
    shutil.rmtree(daemon.work / ".claude", ignore_errors=True)
    await client.config.settings()


def file(daemon: Daemon) -> Path:
    return daemon.paths.config_dir / "settings.json"


def entries(settings: v1.Settings) -> dict[str, v1.SettingEntry]:
    return {entry.key: entry for entry in settings.entries}


@pytest.mark.behaviour("config.rpc.get-settings")
async def test_the_current_settings_are_listed_with_their_origin(daemon: Daemon, client: Client) -> None:
    file(daemon).write_text(COMMENTED)
    await client.config.change({"daemon.log_level": '"debug"'})
    found = await client.config.settings()
    assert (found.daemon.max_subprocesses, found.daemon.log_level) == (3, "debug")
    assert found.daemon.socket_path == str(daemon.paths.socket)
    assert found.permissions.disconnected_timeout_secs == 7 * 86400
    turn_limit = entries(found)["agents.turn_limit"]
    assert (turn_limit.value_json, turn_limit.layer, turn_limit.origin) == ("3", "user", f"{file(daemon)}:3")
    assert entries(found)["agents.queue_limit"].layer == "default"
    assert not found.problem


@pytest.mark.behaviour("config.rpc.update-settings")
async def test_a_change_is_answered_shown_and_used_at_once(daemon: Daemon, client: Client) -> None:
    file(daemon).write_text(COMMENTED)
    changed = await client.config.change({"agents.turn_limit": "7", "feature_flags.a_flag": "true"})
    assert (changed.daemon.max_subprocesses, dict(changed.feature_flags)) == (7, {"a_flag": True})
    found = await client.config.settings()
    assert found == changed
    assert (await client.health()).metadata["turn_limit"] == "7"
    text = file(daemon).read_text()
    assert '  // mine\n  "agents": {"turn_limit": 7}, "model": "opus", "elses": 1' in text
    assert (await client.config.change({}, ["agents.turn_limit"])).daemon.max_subprocesses == 5


async def test_settings_that_need_a_restart_are_marked_and_in_the_health(daemon: Daemon, client: Client) -> None:
    found = await client.config.change({"agents.message_limit": '"8MiB"', "agents.turn_limit": "4"})
    assert found.daemon.max_payload_bytes == 8 * 1024 * 1024
    assert entries(found)["agents.message_limit"].needs_restart
    assert not entries(found)["agents.turn_limit"].needs_restart
    assert (await client.health()).metadata["settings_need_restart"] == "agents.message_limit"
    await client.config.change({}, ["agents.message_limit"])
    assert "settings_need_restart" not in (await client.health()).metadata


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"agents.turn_limit": "0"}, "agents.turn_limit must be a whole number from 1 to 1000, not 0"),
        ({"agents.turn_limit": "many"}, "The value of agents.turn_limit is not JSON"),
        ({"agents.turn_limits": "1"}, "did you mean agents.turn_limit?"),
        ({"feature_flags.a": "1"}, "must be true or false"),
        ({"permissions.default_ttl": '"59m"'}, "must be from 1h to 30d"),
        ({"permissions.allow": '["Bash"]'}, "is a list of rules"),
        ({"notify.webhook.url": '"ftp://s3cret"'}, "notify.webhook.url must be"),
    ],
)
async def test_a_wrong_value_is_refused_and_nothing_is_written(
    daemon: Daemon, client: Client, values: dict[str, str], says: str
) -> None:
    file(daemon).write_text(COMMENTED)
    with pytest.raises(Refused) as refused:
        await client.config.change({"daemon.log_level": '"debug"', **values})
    assert refused.value.status is grpc.StatusCode.INVALID_ARGUMENT
    assert says in refused.value.message
    assert "s3cret" not in refused.value.message
    assert file(daemon).read_text() == COMMENTED


@pytest.mark.behaviour("error.status.aborted")
async def test_a_change_of_what_somebody_else_changed_is_aborted_and_can_be_tried_again(
    daemon: Daemon, client: Client
) -> None:
    seen = (await client.config.settings()).etag
    await client.config.change({"agents.turn_limit": "6"}, if_unchanged=seen)
    with pytest.raises(Refused) as refused:
        await client.config.change({"agents.turn_limit": "7"}, if_unchanged=seen)
    assert (refused.value.status, refused.value.code) == (grpc.StatusCode.ABORTED, "CONFLICT")
    assert json.loads(file(daemon).read_text()) == {"agents": {"turn_limit": 6}}
    again = await client.config.change({"agents.turn_limit": "7"}, if_unchanged=(await client.config.settings()).etag)
    assert again.daemon.max_subprocesses == 7


async def test_many_changes_at_once_are_all_made(daemon: Daemon, client: Client) -> None:
    file(daemon).write_text(COMMENTED)
    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(client.config.change, {f"feature_flags.later_{number}": "true"})
    assert len((await client.config.settings()).feature_flags) == 100
    assert set(comments(COMMENTED)) <= set(comments(file(daemon).read_text()))


async def test_private_values_are_never_shown(daemon: Daemon, client: Client) -> None:
    url = "https://example.com/s3cret"
    values = {"notify.webhook.url": json.dumps(url), "notify.webhook.secret_file": '"/key"'}
    found = await client.config.change(values)
    assert b"s3cret" not in found.SerializeToString()
    entry = entries(found)["notify.webhook.url"]
    assert (entry.is_private, entry.value_json, entry.layer) == (True, "", "user")
    assert url in file(daemon).read_text()
    assert "s3cret" not in daemon.log


async def test_the_messages_of_older_clients_change_what_differs(daemon: Daemon, client: Client) -> None:
    async with daemon.channel() as channel:
        stub = ConfigServiceStub(channel)
        settings = await stub.GetSettings(v1.GetSettingsRequest())
        settings.daemon.max_subprocesses = 8
        settings.sessions.default_model = "opus"
        settings.permissions.disconnected_timeout_secs = 86400
        settings.permissions.activity_refresh_enabled = False
        changed = await stub.UpdateSettings(v1.UpdateSettingsRequest(settings=settings))
        assert json.loads(file(daemon).read_text()) == {
            "agents": {"turn_limit": 8},
            "sessions": {"default_model": "opus"},
            "permissions": {"extend_on_activity": False, "default_ttl": "1d"},
        }
        assert changed.permissions.connected_timeout_secs == 86400
        only = v1.Settings(sessions=v1.SessionSettings(auto_compact=True, auto_compact_threshold=1000))
        mask = FieldMask(paths=["sessions.auto_compact", "sessions.auto_compact_threshold"])
        changed = await stub.UpdateSettings(v1.UpdateSettingsRequest(settings=only, update_mask=mask))
        assert (changed.sessions.default_model, changed.sessions.auto_compact_threshold) == ("opus", 1000)
        off = FieldMask(paths=["sessions.auto_compact"])
        changed = await stub.UpdateSettings(v1.UpdateSettingsRequest(update_mask=off))
        assert (changed.sessions.auto_compact, changed.sessions.auto_compact_threshold) == (False, 0)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (v1.UpdateSettingsRequest(settings=v1.Settings(daemon=v1.DaemonSettings(port=1))), "cannot be changed"),
        (v1.UpdateSettingsRequest(update_mask=FieldMask(paths=["daemon.colour"])), "not a field of the settings"),
        (v1.UpdateSettingsRequest(scope="everybody"), "Unknown scope"),
        (v1.UpdateSettingsRequest(scope="project"), "absolute path"),
        (v1.UpdateSettingsRequest(scope="project", working_directory="here"), "absolute path"),
        (
            v1.UpdateSettingsRequest(scope="local", working_directory="/x", set={"agents.turn_limit": "1"}),
            "cannot be set by a pro",
        ),
        (
            v1.UpdateSettingsRequest(
                settings=v1.Settings(permissions=v1.PermissionSettings(connected_timeout_secs=60)),
                update_mask=FieldMask(paths=["permissions.connected_timeout_secs"]),
            ),
            "must be from 1h to 30d",
        ),
        (
            v1.UpdateSettingsRequest(
                settings=v1.Settings(sessions=v1.SessionSettings(auto_compact=True)),
                update_mask=FieldMask(paths=["sessions.auto_compact"]),
            ),
            "needs a sessions.auto_compact_threshold",
        ),
        (
            v1.UpdateSettingsRequest(set={f"feature_flags.later_{number}": "true" for number in range(101)}),
            "Change at most 100 settings at once",
        ),
        (v1.UpdateSettingsRequest(set={"sessions.default_model": f'"{"x" * 70_000}"'}), "is longer than 65536"),
    ],
)
async def test_impossible_requests_are_reported(daemon: Daemon, request_: v1.UpdateSettingsRequest, says: str) -> None:
    async with daemon.channel() as channel:
        with pytest.raises(aio.AioRpcError) as error:
            await ConfigServiceStub(channel).UpdateSettings(request_)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert says in (error.value.details() or "")


@pytest.mark.behaviour("config.order.flags-first", "config.order.local-project", "config.order.project-over-user")
async def test_a_session_gets_the_model_that_the_nearest_settings_name(daemon: Daemon, client: Client) -> None:
    async def made(model: str = "") -> str:
        new = NewConversation(str(daemon.work), provider="claude", model=model, environment=daemon.environment)
        session = await client.start_session(new)
        return (await Talk(client, session).summary()).model

    where = {"working_directory": str(daemon.work)}
    assert await made() == ""
    await client.config.change({"sessions.default_model": '"user-1"'})
    assert await made() == "user-1"
    await client.config.change({"sessions.default_model": '"project-1"'}, scope="project", **where)
    assert await made() == "project-1"
    found = await client.config.change({"sessions.default_model": '"local-1"'}, scope="local", **where)
    assert (found.sessions.default_model, [entry.key for entry in found.entries]) == (
        "local-1",
        ["sessions.default_model"],
    )
    assert await made() == "local-1"
    assert await made("flag-1") == "flag-1"
    shown = await client.config.settings(working_directory=str(daemon.work))
    assert entries(shown)["sessions.default_model"].layer == "local"
    (daemon.work / ".claude/settings.json").write_text('{"sessions": {"default_model": 3}}')
    with pytest.raises(Refused, match=r"line 1: sessions\.default_model must be a text, not 3"):
        await made()
    assert await made("flag-1") == "flag-1"


async def test_a_session_of_another_kind_of_agent_does_not_get_that_model(daemon: Daemon, client: Client) -> None:
    await client.config.change({"sessions.default_model": '"mine-1"'})
    session = await client.start_session(NewConversation(str(daemon.work), provider="demo"))
    assert (await Talk(client, session).summary()).model == ""


async def test_the_agent_is_launched_with_that_model(daemon: Daemon, client: Client) -> None:
    await client.config.change({"sessions.default_model": '"mine-1"'})
    talk = await obedient_talk(daemon, client)
    await talk.turn("argv")
    assert "--model=mine-1" in settled_text(talk.events)


async def test_a_session_asked_for_twice_is_one_though_the_model_changed(daemon: Daemon, client: Client) -> None:
    await client.config.change({"sessions.default_model": '"first-1"'})
    start = agent_pb2.StartConversation(
        working_directory=str(daemon.work),
        provider="claude",
        environment=daemon.environment,
        new_session_id=new_session_id(),
    )
    async with daemon.agent_service() as agent:
        for _ in range(2):
            request = agent_pb2.SubmitRequest(request=agent_pb2.AgentRequest(start=start))
            assert (await agent.Submit(request)).session_id == start.new_session_id
            await client.config.change({"sessions.default_model": '"second-1"'})
    assert (await Talk(client, start.new_session_id).summary()).model == "first-1"


@pytest.mark.behaviour("config.rpc.permissions")
async def test_the_current_rules_are_listed_with_their_source(daemon: Daemon, client: Client) -> None:
    write_rules(file(daemon), allow=["Bash(ls)"], deny=["WebFetch"], ask=["Bash"])
    project = daemon.work / ".claude/settings.json"
    write_rules(project, allow=["Edit"], deny=["Bash(rm *)", "bash"])
    talk = await obedient_talk(daemon, client)
    found = await client.config.permissions(session_id=talk.session_id)
    rules = {(rule.text, rule.layer): rule for rule in found.rules}
    assert set(rules) == {
        ("Bash(ls)", "user"),
        ("WebFetch", "user"),
        ("Bash", "user"),
        ("Bash(rm *)", "project"),
    }
    deny = rules["Bash(rm *)", "project"]
    assert (deny.action, deny.source) == (v1.PERMISSION_ACTION_DENY, f"{project}:1")
    assert (deny.tool_pattern, deny.path_pattern) == ("Bash", "rm *")
    assert deny.priority > rules["Bash", "user"].priority > rules["Bash(ls)", "user"].priority
    assert (list(found.denied_tools), list(found.require_approval)) == (["WebFetch"], ["Bash"])
    assert [rule.text for rule in found.untrusted] == ["Edit"]
    assert [problem for problem in found.problems if "write Bash" in problem]
    assert await client.config.permissions(working_directory=str(daemon.work)) == found
    alone = await client.config.permissions()
    assert {rule.layer for rule in alone.rules} == {"user"}


@pytest.mark.behaviour("config.rpc.mcp-servers")
async def test_the_mcp_servers_are_those_that_the_agent_reported(daemon: Daemon, client: Client) -> None:
    reported = daemon.work / "mcp"
    reported.write_text(json.dumps([{"name": "github", "status": "connected"}, {"name": "broken", "status": "failed"}]))
    talk = await obedient_talk(daemon, client)
    assert not await client.config.mcp_servers(session_id=talk.session_id)
    await talk.turn("say hello")
    found = {one.name: one for one in await client.config.mcp_servers(session_id=talk.session_id)}
    assert (found["github"].status, list(found["github"].tools)) == (v1.MCP_SERVER_STATUS_RUNNING, ["look"])
    assert (found["broken"].status, found["broken"].error_message) == (v1.MCP_SERVER_STATUS_ERROR, "failed")
    assert found["github"].session_id == talk.session_id
    assert [one.name for one in await client.config.mcp_servers(status="error")] == ["broken"]
    reported.write_text(reported.read_text().replace("connected", "needs-auth"))
    await talk.turn("say hello")
    found = {one.name: one for one in await client.config.mcp_servers(session_id=talk.session_id)}
    assert (found["github"].status, found["github"].error_message) == (v1.MCP_SERVER_STATUS_ERROR, "needs-auth")
    reported.unlink()
    await talk.turn("say hello")
    assert not await client.config.mcp_servers(session_id=talk.session_id)
    with pytest.raises(Refused, match="is not a status"):
        await client.config.mcp_servers(status="asleep")


async def test_an_agent_cannot_change_the_settings_and_the_attempt_is_audited(tmp_path: Path) -> None:
    changer = tmp_path / "changer.py"
    changer.write_text(
        "import asyncio, pathlib, sys\n"
        "from betcode.client.address import grpc_target\n"
        "from betcode.v1 import config_pb2 as v1\n"
        "from betcode.v1.config_pb2_grpc import ConfigServiceStub\n"
        "from grpc import aio\n"
        "async def main():\n"
        "    async with aio.insecure_channel(grpc_target(pathlib.Path(sys.argv[1]))) as channel:\n"
        "        request = v1.UpdateSettingsRequest(set={'permissions.screen_all': '\"never\"'})\n"
        "        try:\n"
        "            await ConfigServiceStub(channel).UpdateSettings(request)\n"
        "        except aio.AioRpcError as error:\n"
        "            print(error.code().name)\n"
        "asyncio.run(main())\n"
    )
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        before = file(daemon).read_text()
        talk = await obedient_talk(daemon, client)
        await talk.turn(f"spawn {sys.executable} {changer} {daemon.paths.socket}")
        assert "PERMISSION_DENIED" in settled_text(talk.events)
        command = f"spawn {sys.executable} -m betcode --state-dir {daemon.paths.state_dir}"
        command += f" --config-dir {daemon.paths.config_dir} config set agents.turn_limit 9"
        await talk.turn(command)
        assert "agents may not change settings" in settled_text(talk.events)
        assert file(daemon).read_text() == before
        async with aclosing(client.audit.records(AuditFilter())) as records:
            assert [record.what async for record in records] == ["refused_answer"]


async def test_a_file_edited_by_hand_is_reloaded_without_a_signal(daemon: Daemon, client: Client) -> None:
    await client.config.change({"agents.turn_limit": "6"})
    log = len(daemon.log)
    file(daemon).write_text('{"agents": {"turn_limit": 9}}')
    await becomes_true(lambda: "settings read again; changed: agents.turn_limit" in daemon.log[log:])
    assert (await client.health()).metadata["turn_limit"] == "9"


async def test_the_model_counts_for_the_very_next_session(daemon: Daemon, client: Client) -> None:
    for model in ("one-1", "two-1", ""):
        daemon.configure({"sessions": {"default_model": model}} if model else {})
        talk = await obedient_talk(daemon, client)
        assert (await talk.summary()).model == model


async def test_an_invalid_file_is_reported_and_the_last_valid_settings_apply(daemon: Daemon, client: Client) -> None:
    await client.config.change({"agents.turn_limit": "6"})
    file(daemon).write_text('{\n"agents": {"turn_limit": 0}}')
    log = len(daemon.log)
    await becomes_true(lambda: "the settings are unchanged" in daemon.log[log:])
    found = await client.config.settings()
    assert found.daemon.max_subprocesses == 6
    assert "line 2: agents.turn_limit must be a whole number" in found.problem
    assert "line 2: agents.turn_limit" in (await client.health()).metadata["settings_problem"]
    file(daemon).write_text('{"agents": {"turn_limit": 5}}')
    await becomes_true(lambda: "settings read again" in daemon.log[log:])
    assert not (await client.config.settings()).problem
