"""What is said to people who are not looking, and how each way is told to say it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.config.settings import NotifySettings
from betcode.domain.permissions.notification import Notification, NotificationReason
from betcode.domain.values.secrets import redacted
from betcode.notify import desktop, open_notifications
from betcode.notify.programs import NotSent, run_program, small_environment
from betcode.notify.webhook import signature
from support.daemon.process import becomes_true

ASK = Notification(
    "n-1", NotificationReason.ASK, "r-1", "0b1d6f0e-1", "api", "/work", "Bash", "rm -rf <b> & co", 10**18, 2 * 10**18
)


def test_linux_gets_text_that_is_neither_markup_nor_an_option() -> None:
    argv = desktop.command_for(replace(ASK, session_name="--replace-id=1"), "linux")
    assert argv[0] == "notify-send"
    assert argv[-3:] == ["--", "betcode: --replace-id=1 waits for you", "Bash: rm -rf &lt;b&gt; &amp; co"]


def test_macos_gets_text_as_arguments_of_a_fixed_script() -> None:
    nasty = replace(ASK, description='" & (do shell script "id") & "')
    argv = desktop.command_for(nasty, "darwin")
    assert argv[0] == "osascript"
    assert argv[-1] == f"Bash: {nasty.description}"
    assert all("do shell script" not in part for part in argv[:-1])


def test_another_desktop_is_said_to_be_unknown() -> None:
    with pytest.raises(NotSent, match="win32"):
        desktop.command_for(ASK, "win32")


@pytest.mark.behaviour("permission.reminder.content")
def test_the_json_names_request_session_tool_and_description() -> None:
    told = json.loads(replace(ASK, occasion=NotificationReason.REMINDER, number=2).as_json())
    assert told == {
        "id": "n-1",
        "occasion": "reminder",
        "request_id": "r-1",
        "session_id": "0b1d6f0e-1",
        "session_name": "api",
        "working_directory": "/work",
        "tool_name": "Bash",
        "description": "rm -rf <b> & co",
        "asked_at": "2001-09-09T01:46:40Z",
        "expires_at": "2033-05-18T03:33:20Z",
        "number": 2,
    }


def test_the_signature_is_over_time_and_body() -> None:
    # printf '1700000000.{}' | openssl dgst -sha256 -hmac key
    assert signature(b"key", 1_700_000_000, b"{}") == f"t=1700000000,v1={KNOWN}"
    assert signature(b"key", 1_700_000_001, b"{}") != signature(b"key", 1_700_000_000, b"{}")


KNOWN = "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"


def test_a_program_gets_a_small_environment() -> None:
    environ: Mapping[str, str] = {"PATH": "/bin", "HOME": "/h", "ANTHROPIC_API_KEY": "k", "DISPLAY": ":0"}
    assert small_environment(environ) == {"HOME": "/h", "PATH": "/bin"}
    assert small_environment(environ, "DISPLAY")["DISPLAY"] == ":0"


@pytest.mark.anyio
async def test_a_program_that_cannot_be_started_or_fails_is_told_of() -> None:
    with pytest.raises(NotSent, match="cannot be started"):
        await run_program(["/does/not/exist"])
    with pytest.raises(NotSent, match="ended with 1"):
        await run_program(["/bin/false"], stdin=b"x" * 1_000_000)


@pytest.mark.anyio
async def test_a_program_that_takes_too_long_is_killed_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("betcode.notify.programs.TIME_LIMIT_S", 1.0)
    fifo = tmp_path / "fifo"
    with pytest.raises(NotSent, match="took longer than 1 s"):
        await run_program(["/bin/sh", "-c", 'mkfifo "$1"; cat "$1" & wait', "sh", str(fifo)])
    # Killed is not yet gone.
    await becomes_true(
        lambda: not any(str(fifo).encode() in _bytes(entry) for entry in Path("/proc").glob("[0-9]*/cmdline"))
    )


@pytest.mark.anyio
async def test_a_flood_is_dropped_past_a_hundred_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async with open_notifications(NotifySettings(command=("/bin/true",))) as notifying:
        for _ in range(1000):
            notifying.notify(ASK)
    assert [record.getMessage() for record in caplog.records] == [
        "dropping notifications: too many are queued for the command"
    ]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefABCDEF0123456789abcd",
        "hunter2hunter2",
    ],
)
def test_what_looks_like_a_secret_is_taken_out(secret: str) -> None:
    assert secret not in redacted(f'curl -H "X: password={secret}" https://me:{secret}@example.com/')
