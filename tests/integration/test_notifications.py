"""Notifications reach a real command and a real web server, once per event."""

import hashlib
import hmac
import json
import os
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from betcode.client import open_client
from betcode.config.settings import NotifySettings
from betcode.domain.permissions.notification import Notification, NotificationReason
from betcode.notify.programs import NotSent
from betcode.notify.webhook import post
from support.apis.webhook_server import Posted, hook_server
from support.daemon.clock import DAY_S, HOUR_S, eventually, timed_daemon
from support.daemon.process import agent_program, becomes_true, running_daemon
from support.daemon.session import is_idle
from support.patience import PATIENCE_S
from support.processes.command import shell
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio

KEY = "a-key-that-nobody-else-has"
TOLD = Notification("n-1", NotificationReason.ASK, "r-1", "s-1", "api", "/work", "Bash", "a mark", 10**18, 2 * 10**18)


def is_signed(posted: Posted) -> bool:
    parts = dict(part.split("=", 1) for part in posted.headers["X-Betcode-Signature"].split(","))
    mac = hmac.new(KEY.encode(), f"{parts['t']}.".encode() + posted.body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(mac, parts["v1"])


def key_file(root: Path) -> str:
    (root / "key").write_text(f"{KEY}\n")
    return str(root / "key")


@pytest.mark.behaviour("permission.reminder.content")
async def test_a_prompt_that_nobody_sees_is_told_by_every_way_and_again_at_each_reminder_and_its_end(
    tmp_path: Path,
) -> None:
    heard = tmp_path / "heard"
    script = tmp_path / "tell.py"
    script.write_text(
        "import json, os, sys\n"
        "told = json.load(sys.stdin) | {'argument': sys.argv[2], 'names': sorted(os.environ)}\n"
        "open(sys.argv[1], 'a').write(json.dumps(told) + '\\n')\n"
    )
    with hook_server(503) as hook:
        notify = {
            "command": [sys.executable, "-I", str(script), str(heard), "$(id) ; x"],
            "webhook": {"url": f"{hook.url}/hook?to=me", "secret_file": key_file(tmp_path)},
        }

        async def occasions() -> tuple[list[str], list[str]]:
            told = [json.loads(line) for line in heard.read_text().splitlines()] if heard.exists() else []
            return [one["occasion"] for one in told], [json.loads(one.body)["occasion"] for one in hook.posted]

        async with timed_daemon(tmp_path, {"notify": notify}) as timed:
            talk = await timed.talk()
            await timed.client.rename(talk.session_id, "api")
            asked = await timed.asked(talk)
            await eventually(occasions, lambda told: told == (["ask"], ["ask", "ask"]))
            await timed.daemon.restart()
            timed.later(HOUR_S + 1)
            await eventually(occasions, lambda told: told == (["ask", "reminder"], ["ask", "ask", "reminder"]))
            timed.later(7 * DAY_S)
            await eventually(occasions, lambda told: [each[-1] for each in told] == ["expired", "expired"])
            await talk.until(is_idle)
            log = timed.daemon.log

    told: list[dict[str, Any]] = [json.loads(line) for line in heard.read_text().splitlines()]
    assert [one["occasion"] for one in told] == ["ask", "reminder", "expired"]  # each once, also over the restart
    first = told[0]
    assert (first["request_id"], first["session_id"]) == (asked.request_id, talk.session_id)
    assert (first["session_name"], first["tool_name"], first["description"]) == ("api", "Bash", "a mark")
    assert first["argument"] == "$(id) ; x"  # no shell has seen it
    assert not {"PYTHONPATH", "BETCODE_TEST_CLOCK"} & set(first["names"])

    refused, taken, *_ = hook.posted
    assert refused.path == "/hook?to=me"
    assert refused.body == taken.body
    assert refused.headers["X-Betcode-Delivery"] == taken.headers["X-Betcode-Delivery"] == first["id"]
    assert all(is_signed(posted) for posted in hook.posted)
    assert KEY not in log
    assert "to=me" not in log


async def test_who_is_attached_is_not_told_of_what_he_sees(tmp_path: Path) -> None:
    with hook_server() as hook:
        notify = {"webhook": {"url": hook.url, "secret_file": key_file(tmp_path)}, "on": ["ask", "reminder"]}

        async def told() -> list[str]:
            return [json.loads(one.body)["request_id"] for one in hook.posted]

        async with timed_daemon(tmp_path, {"notify": notify}) as timed:
            talk, unseen = await timed.talk(), await timed.talk()
            async with aclosing(timed.client.follow(talk.session_id, 0)) as events:
                await anext(events)
                await talk.say("tool")
                with anyio.fail_after(PATIENCE_S):
                    async for event in events:
                        if event.HasField("permission_request"):
                            break
                asked = await timed.asked(unseen)
                assert await eventually(told, bool) == [asked.request_id]
            timed.later(7 * DAY_S + 1)  # no reminder for what is over, and "expired" is not asked for
            await unseen.until(is_idle)
            again = await timed.asked(unseen)
            assert await eventually(told, lambda ids: len(ids) > 1) == [asked.request_id, again.request_id]


@pytest.mark.parametrize("on_ask", ["park", "wait=1s"])
async def test_a_run_that_leaves_its_prompt_to_others_has_them_told(tmp_path: Path, on_ask: str) -> None:
    with hook_server() as hook:
        notify = {"webhook": {"url": hook.url, "secret_file": key_file(tmp_path)}}

        async def told() -> list[str]:
            return [json.loads(one.body)["request_id"] for one in hook.posted]

        with shell(tmp_path, settings={"notify": notify}) as here:
            done = here.run("run", "--on-ask", on_ask, "--json", "tool")
            assert done.returncode == 3, done.stderr
            assert await eventually(told, bool) == json.loads(done.stdout)["parked"]


async def test_a_refusal_a_redirect_and_a_missing_key_are_final(tmp_path: Path) -> None:
    for status in (403, 302):
        with hook_server(status) as hook:
            with pytest.raises(NotSent, match=f"127.0.0.1 refused it: status {status}"):
                await post(TOLD, f"{hook.url}/s3cret", key_file(tmp_path))
            assert [posted.path for posted in hook.posted] == ["/s3cret"]
    with pytest.raises(NotSent, match="cannot be read"):
        await post(TOLD, "http://127.0.0.1:9/", str(tmp_path / "none"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotSent, match="not a regular file"):
        await post(TOLD, "http://127.0.0.1:9/", str(tmp_path / "pipe"))


async def test_a_server_that_never_takes_it_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betcode.notify.webhook.FIRST_WAIT_S", 0.001)
    with hook_server(*[500] * 8) as hook:
        with pytest.raises(NotSent, match="did not accept it after 8 attempts: status 500"):
            await post(TOLD, hook.url, key_file(tmp_path))
        assert len(hook.posted) == 8


async def test_a_name_that_is_looked_up_for_ever_holds_up_no_stop(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import pathlib, socket, threading\n"
        "def never(*_, **__):\n"
        f"    pathlib.Path({str(tmp_path / 'asked')!r}).touch()\n"
        "    threading.Event().wait()\n"
        "socket.getaddrinfo = never\n"
    )
    webhook = {"url": "https://hook.example/", "secret_file": key_file(tmp_path)}
    async with running_daemon(
        tmp_path,
        settings={"notify": {"webhook": webhook}},
        claude_bin=agent_program(tmp_path),
        environment={"PYTHONPATH": str(site)},
    ) as daemon:
        async with open_client(daemon.paths) as client:
            await (await obedient_talk(daemon, client)).say("tool")
            await becomes_true((tmp_path / "asked").exists)
        assert await daemon.stop() == 0


def test_a_web_address_is_not_part_of_what_settings_say_of_themselves() -> None:
    assert "s3cret" not in repr(NotifySettings(webhook_url="https://example.com/s3cret"))
