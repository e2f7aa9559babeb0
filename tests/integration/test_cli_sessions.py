"""`betcode session`: lists, histories and live events."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("sessions")) as commands:
        yield commands


def begin(here: Shell, prompt: str, *more: str) -> str:
    return str(here.json("run", "--json", *more, prompt)["session_id"])


@pytest.mark.behaviour("session.list.all", "session.list.preview", "session.list.counts")
def test_the_list_has_the_newest_first(here: Shell) -> None:
    older, newer = begin(here, "say older"), begin(here, "say newer")
    listed = here.json("session", "list", "--json")
    assert [one["id"] for one in listed["sessions"]][:2] == [newer, older]
    assert listed["total"] == len(listed["sessions"])
    newest = listed["sessions"][0]
    assert (newest["status"], newest["provider"], newest["message_count"]) == ("idle", "claude", 2)
    assert newest["total_cost_usd"] == 0.25
    table = here.run("session", "list").stdout.splitlines()
    assert table[0].split()[:2] == ["ID", "STATUS"]
    assert table[1].startswith(newer[:13])


@pytest.mark.behaviour("session.list.by-directory", "session.list.paging")
def test_the_list_can_be_narrowed_and_paged(here: Shell) -> None:
    (here.work / "apart").mkdir()
    apart = begin(here, "say hi", "-C", "apart")
    begin(here, "say hi")
    listed = here.json("session", "list", "--json", "-C", "apart")
    assert [one["id"] for one in listed["sessions"]] == [apart]
    pages = [here.json("session", "list", "--json", "--limit", "1", "--offset", str(n)) for n in range(2)]
    assert pages[0]["sessions"] != pages[1]["sessions"]
    assert pages[0]["total"] == pages[1]["total"] > 1
    assert here.run("session", "list", "-C", "/").stdout == "No sessions found\n"
    assert "more: betcode session list --offset 1" in here.run("session", "list", "--limit", "1").stderr


def test_a_session_shows_its_facts_and_its_conversation(here: Shell) -> None:
    session = begin(here, "say \x1b[31mhello\ntool", "--allowed-tools", "Bash")
    shown = here.run("session", "show", session[:18]).stdout
    assert session in shown
    assert "> say ␛[31mhello" in shown
    assert "● Bash touch ran.txt" in shown
    told = here.json("session", "show", "--json", session)
    assert told["session"]["id"] == session
    assert [event["sequence"] for event in told["events"]] == list(range(1, told["session"]["last_sequence"] + 1))


@pytest.mark.behaviour("reconnect.after-end")
def test_a_closed_session_is_followed_to_its_end(here: Shell) -> None:
    session = begin(here, "say hello")
    assert here.json("session", "close", "--json", session) == {"session_id": session, "was_open": True}
    assert here.json("session", "close", "--json", session)["was_open"] is False
    events = [json.loads(line) for line in here.run("session", "follow", "--json", session).stdout.splitlines()]
    assert "turn_complete" in [event["type"] for event in events]
    assert here.run("run", "--session", session, "say more").returncode == 5


def test_following_begins_after_a_number_and_can_end_when_the_session_rests(here: Shell) -> None:
    session = begin(here, "say hello")
    whole = here.run("session", "follow", "--json", "--until-idle", session).stdout.splitlines()
    later = here.run("session", "follow", "--json", "--until-idle", "--after", "3", session).stdout.splitlines()
    assert later == whole[3:]


def test_a_follower_sees_a_turn_as_it_happens(here: Shell) -> None:
    session = begin(here, "say hello")
    with subprocess.Popen(
        here.argv("session", "follow", "--json", session),
        env=here.environment,
        cwd=here.work,
        stdout=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        seen = [json.loads(next(follower.stdout))]
        here.run("run", "--session", session, "say live words")
        while seen[-1].get("text_delta", {}).get("text") != "live words":
            seen.append(json.loads(next(follower.stdout)))
        follower.kill()
    numbers = [event["sequence"] for event in seen if event["sequence"]]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.behaviour("cancel.rpc.interrupts")
def test_a_turn_is_cancelled_from_elsewhere_and_its_text_is_marked(here: Shell) -> None:
    with subprocess.Popen(
        here.argv("run", "say so far\nwait never"),
        env=here.environment,
        cwd=here.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stderr is not None
        assert run.stdout is not None
        session = run.stderr.readline().split("Session ")[1].strip()
        while run.stdout.read(1) != "w":  # of "waiting"
            pass
        assert here.run("session", "cancel", session).stdout == "The turn is being stopped\n"
        assert run.wait(PATIENCE_S) != 0
    assert here.run("session", "cancel", session, "--queued").stdout == "No turn is open\n"
    told = here.json("session", "cancel", session, "--json")
    assert told == {"session_id": session, "was_active": False, "withdrawn_message_ids": []}
    shown = here.run("session", "show", session).stdout
    assert "so farwaiting\n[cut short]\n── cancelled" in shown


@pytest.mark.behaviour("exit-code.6")
@pytest.mark.parametrize("verb", ["show", "follow", "close", "cancel"])
def test_an_unknown_session_exits_with_6(here: Shell, verb: str) -> None:
    for unknown in ("019a0000-0000-7000-8000-000000000000", "zzz"):
        assert here.run("session", verb, unknown).returncode == 6
    assert here.run("attach", "zzz").returncode == 6


def test_a_prefix_of_several_sessions_names_none(here: Shell) -> None:
    begin(here, "say a")
    begin(here, "say b")
    done = here.run("session", "show", "0")
    assert done.returncode == 5
    assert "give more of the id" in done.stderr


def test_piped_input_of_a_conversation_is_sent_and_awaited(here: Shell) -> None:
    session = begin(here, "say hello")
    done = here.run("attach", session, stdin="say one\nsay two\n")
    assert done.returncode == 0
    assert "one" in done.stdout
    assert "two" in done.stdout


def test_nothing_is_sent_to_a_closed_session(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    assert here.run("session", "close", session).returncode == 0
    done = here.run("attach", session, stdin="say more\n")
    assert done.returncode == 5
    assert f"betcode session show {session}" in done.stderr
    with here.terminal("attach", session) as person:
        person.expect("The session has ended")
        assert person.ended() == 0
        assert "\n> \r" not in person.seen
        assert "Type a message" not in person.seen


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_behind_stdout_is_reported_in_one_line(here: Shell) -> None:
    with Path("/dev/full").open("w") as full:
        argv = here.argv("session", "list")
        done = subprocess.run(
            argv, env=here.environment, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S
        )
    assert (done.returncode, done.stderr) == (7, "betcode: No space left on device (the output)\n")


def test_a_crash_during_a_run_is_reported_and_the_run_continues(here: Shell) -> None:
    done = here.run("run", "stumble over-a-run")
    assert (done.returncode, done.stdout.strip().splitlines()[-1]) == (0, "up again")
    assert "restarts in 0.5 s" in done.stderr
    (here.work / "over-a-run").unlink()
    told = here.json("run", "--json", "stumble over-a-run")
    assert (told["text"], told["error"], told["is_error"]) == ("up again", None, False)


def test_a_session_that_waits_for_the_api_says_so(here: Shell) -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "session_id": "s"}
    retry |= {"retry_delay_ms": 7_200_000, "error_status": 529, "error": "overloaded"}
    (here.work / "retry").write_text(json.dumps(retry) + "\n")
    with subprocess.Popen(
        here.argv("run", "play retry\nwait over"),
        env=here.environment,
        cwd=here.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.read(len("playedwaiting")) == "playedwaiting"
        newest = here.json("session", "list", "--json", "--limit", "1")["sessions"][0]
        assert newest["waiting_for"] == "overload"
        assert newest["waiting_until"] > newest["updated_at"]
        assert "API overloaded, retries until" in here.run("session", "list", "--limit", "1").stdout
        assert "API overloaded" in here.run("session", "show", newest["id"]).stdout
        (here.work / "over").touch()
        assert run.wait(PATIENCE_S) == 0
    assert here.json("session", "list", "--json", "--limit", "1")["sessions"][0]["waiting_for"] == ""


def test_a_conversation_is_one_json_object_per_event_for_a_program(here: Shell) -> None:
    session = here.json("run", "--json", "say before")["session_id"]
    done = here.run("attach", "--json", session, stdin="say one two\n")
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    numbers = [event["sequence"] for event in events if event["sequence"]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    said = [event["user_input"]["content"] for event in events if event["type"] == "user_input"]
    assert said == ["say before", "say one two"]
    text = "".join(event["text_delta"]["text"] for event in events if event["type"] == "text_delta")
    assert "one two" in text
    assert "turn_complete" in {event["type"] for event in events[-5:]}


def test_on_a_terminal_too_a_question_is_an_event_and_is_asked_beside_it(here: Shell) -> None:
    session = here.json("run", "--json", "say ready")["session_id"]
    with here.terminal("attach", "--json", session) as person:
        person.echo_off()
        person.expect('"type": "input_lock"')
        person.type("tool\n")
        person.expect('"type": "user_input"')
        person.expect('{"type": "permission_request"')
        person.expect("Allow? [y")
        person.type("y\n")
        person.expect('{"type": "turn_complete"')
        person.type("/quit\n")
        assert person.ended() == 0
        assert all(line.startswith("{") for line in person.seen.splitlines() if '"type"' in line)
