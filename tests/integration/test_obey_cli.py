"""The command obey with a real daemon: sessions of a campaign, created, messaged, watched, answered and stopped."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.domain.values.identifiers import parse_session_id
from support.obey.campaigns import SECOND, RegistryFile, make_campaign
from support.obey.command import ObeyShell, obey_shell
from support.patience import PATIENCE_S


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObeyShell]:
    with obey_shell(tmp_path_factory.mktemp("obey")) as commands:
        commands.told("serve")
        yield commands


@pytest.fixture(scope="module")
def session(here: ObeyShell) -> str:
    return here.made("--name", "keeper")


@pytest.mark.behaviour("obey.cli.create")
def test_create_makes_and_starts_a_session_of_the_campaign_around(here: ObeyShell) -> None:
    done = here.told("session", "create", "--model", "opus", "--name", "coordinator", "--festival", "f-HF0001")
    lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert re.fullmatch(r"Session: \S+", lines[0])
    assert lines[1] == "Provider: claude-code/opus"
    assert {"Status: running", f"Campaign: {here.campaign.id}", f"Directory: {here.campaign.root}"} <= set(lines)
    named = here.told_json("session", "create", "--campaign", "ethdenver2026", "--provider", "demo")["session"]
    assert (named["provider"], named["status"]) == ("demo", "running")


@pytest.mark.behaviour("obey.cli.create")
def test_a_session_works_somewhere_inside_of_the_campaign_and_nowhere_else(here: ObeyShell) -> None:
    (here.work / "api").mkdir()
    (here.work / "away").symlink_to(here.daemon.root)
    made = here.told_json("session", "create", "--workdir", "api")["session"]
    assert made["working_dir"] == str((here.work / "api").resolve())
    for outside in ("..", "away", "/"):
        assert "leaves the root" in here.told("session", "create", "--workdir", outside, code=1).stderr
    assert here.told("session", "create", "--workdir", "missing", code=2).stdout == ""


def test_outside_of_a_campaign_one_must_be_named(here: ObeyShell) -> None:
    argv = here.argv("session", "create")
    place = here.daemon.root / "elsewhere"
    place.mkdir()
    done = subprocess.run(argv, cwd=place, env=here.environment, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert "\nHint: give one with --campaign" in done.stderr
    unknown = here.told("session", "create", "--campaign", "atlantis", code=1)
    assert unknown.stderr.startswith("obey: OBEY-2001: ")
    assert "\nHint: obey campaigns" in unknown.stderr


@pytest.mark.behaviour("obey.cli.send")
def test_send_prints_the_reply_and_takes_a_message_from_stdin(here: ObeyShell, session: str) -> None:
    done = here.told("session", "send", session, "say all is well")
    assert (done.stdout.strip(), done.stderr) == ("all is well", "")
    assert here.run("session", "send", "keeper", stdin="say piped\n").stdout.strip() == "piped"


@pytest.mark.behaviour("obey.cli.list")
def test_list_shows_those_that_live_those_of_a_campaign_or_all(here: ObeyShell, session: str) -> None:
    over = here.made("--name", "over")
    here.told("session", "stop", over, "--force")

    def listed(*arguments: str) -> set[str]:
        return {one["id"] for one in here.told_json("session", "list", *arguments)["sessions"]}

    assert session in listed()
    assert over not in listed()
    assert {session, over} <= listed("--all")
    assert session in listed("--campaign", "ethdenver2026")
    other = make_campaign(here.daemon.root / "other", SECOND, "other")
    registry = RegistryFile(here.daemon.root / "home")
    registry.add(here.campaign)
    registry.add(other)
    assert listed("--campaign", "other", "--all") == set()
    assert over in listed("--status", "stopped")
    assert session not in listed("--provider", "demo")
    shown = here.told("session", "list").stdout.splitlines()
    assert shown[0].split()[:2] == ["ID", "STATUS"]
    assert any(line.endswith("keeper") for line in shown)


@pytest.mark.behaviour("obey.cli.info")
def test_info_shows_a_session_by_the_beginning_of_its_id(here: ObeyShell, session: str) -> None:
    assert here.told("session", "info", session[:-4]).stdout.startswith(f"Session: {session}\nProvider: claude-code")


@pytest.mark.behaviour("obey.cli.watch", "obey.cli.stop")
def test_watch_shows_activities_until_the_session_has_stopped(here: ObeyShell) -> None:
    watched = here.made()
    with here.terminal("session", "watch", watched) as person, here.terminal("session", "watch") as of_all:
        person.expect(f"{watched} is running")
        of_all.expect("Watching all sessions")
        here.told("session", "send", watched, "say seen from afar")
        person.expect("running → working")
        person.expect("seen from afar")
        assert "Status: stopped" in here.told("session", "stop", watched).stdout
        person.expect("stopping → stopped")
        assert person.ended() == 0
        of_all.expect(f"{watched}  seen from afar")
        of_all.interrupt()
        assert of_all.ended() == -signal.SIGINT
        assert "Traceback" not in of_all.seen
    assert here.told("session", "watch", watched).stdout == f"{watched} is stopped\n"
    assert here.told("session", "stop", watched, code=1).stderr.startswith("obey: OBEY-2020: ")


@pytest.mark.behaviour("obey.cli.stop")
def test_stop_lets_the_work_at_hand_end(here: ObeyShell) -> None:
    busy = here.told_json("session", "create", "--message", "wait gently\nsay the end")["session"]["id"]
    with here.terminal("session", "watch", busy) as person:
        person.expect(f"{busy} is working")
        with here.terminal("session", "stop", busy) as leaving:
            person.expect("working → stopping")
            (here.work / "gently").touch()
            person.expect("the end")
            leaving.expect("Status: stopped")
            assert leaving.ended() == 0


@pytest.mark.behaviour("obey.cli.stop")
def test_force_does_not_wait_for_the_work_at_hand(here: ObeyShell) -> None:
    busy = here.told_json("session", "create", "--message", "wait forever")["session"]
    assert busy["status"] == "working"
    assert "Status: stopped" in here.told("session", "stop", busy["id"], "--force").stdout


def test_a_prompt_is_answered_from_another_terminal(here: ObeyShell) -> None:
    asking = here.made()
    with here.terminal("session", "send", asking, "tool") as person:
        person.expect("The agent asks and waits: Bash")
        person.expect(f"obey session answer {asking} ")
        prompt = person.expect(" allow").strip()
        assert here.told("session", "answer", asking, prompt, "allow").stdout == "Allowed\n"
        person.expect("ran")
        assert person.ended() == 0
    assert here.told("session", "answer", asking, prompt, "allow").stdout == "Allowed, as it already was\n"
    assert here.told("session", "answer", asking, "nothing", "deny", code=1).stderr.startswith("obey: OBEY-")


def test_without_a_terminal_prompts_are_denied(here: ObeyShell) -> None:
    asking = here.made()
    done = here.run("session", "send", asking, "tool")
    assert done.returncode == 1, done.stderr
    assert "Denied: Bash" in done.stderr
    assert "no terminal to ask on" in done.stderr
    assert "waits" not in done.stderr + done.stdout, "it is denied at once"
    assert here.told_json("session", "info", asking)["session"]["status"] == "running"
    facts = json.loads(here.run("session", "send", "--json", "--on-ask", "deny", asking, "tool").stdout)
    assert facts["denied"] is True


def test_restart_keeps_the_id_and_a_stopped_session_gets_another(here: ObeyShell) -> None:
    one = here.made()
    restarted = here.told_json("session", "restart", one)
    assert (restarted["session"]["id"], restarted["session"]["restart_count"]) == (one, 1)
    here.told("session", "stop", one)
    anew = here.told_json("session", "restart", one)
    assert anew["restarted_from"] == one
    assert anew["session"]["id"] != one


def test_ctrl_c_detaches_from_a_turn_that_continues(here: ObeyShell) -> None:
    one = here.made()
    with here.terminal("session", "send", one, "wait go\nsay gone on") as person:
        person.expect("Working…")
        person.interrupt()
        person.expect("Detached; the turn continues")
        assert person.ended() == -signal.SIGINT
    assert here.told_json("session", "info", one)["session"]["status"] == "working"
    (here.work / "go").touch()


def test_one_face_sees_the_sessions_of_the_other(here: ObeyShell, session: str) -> None:
    theirs = json.loads(here.betcode("session", "list", "--json").stdout)["sessions"]
    assert parse_session_id(session) in {one["id"] for one in theirs}
    made = json.loads(here.betcode("run", "--output", "json", "say made there").stdout)["session_id"]
    assert here.told_json("session", "info", made)["session"]["campaign_id"] == here.campaign.id
    assert here.told("session", "send", made, "say from here").stdout.strip() == "from here"


def test_commands_run_in_the_campaign_as_its_rules_allow(here: ObeyShell) -> None:
    assert here.told("exec", "--", "git", "--version").stdout.startswith("git version")
    refused = here.told("exec", "--", "rm", "-rf", ".", code=1)
    assert refused.stdout == ""
    assert refused.stderr.startswith("obey: OBEY-")


def test_ping_status_and_campaigns_print_the_state(here: ObeyShell, session: str) -> None:
    campaigns = here.told_json("campaigns")["campaigns"]
    assert "ethdenver2026" in [each["name"] for each in campaigns]
    assert f"{len(campaigns)} campaign" in here.told("ping").stdout
    shown = here.told("status").stdout
    assert "ethdenver2026" in shown
    assert any(line.startswith(session[:13]) and line.endswith("keeper") for line in shown.splitlines())


def test_completion_knows_words_sessions_and_campaigns(here: ObeyShell, session: str) -> None:
    def asked(*words: str) -> list[str]:
        return here.told("--complete", *words).stdout.splitlines()

    assert asked("session", "w")[0].startswith("watch\t")
    assert any(session.startswith(line.split("\t")[0]) for line in asked("session", "send", ""))
    assert asked("session", "create", "--campaign", "eth")[0].startswith("ethdenver2026\t")
    assert asked("session", "create", "--provider", "cl") == ["claude-code"]
    assert "obey --complete" in here.told("completion", "bash").stdout


def test_a_daemon_without_this_api_is_not_taken_for_none(tmp_path: Path) -> None:
    with obey_shell(tmp_path, {"obey": {"enabled": False}}) as alone:
        assert alone.betcode("daemon", "start").returncode == 0
        alone.socket.touch()  # as one leaves it that was killed
        for words in (["ping"], ["session", "list"], ["session", "list", "--no-start"], ["stop"]):
            done = alone.told(*words, code=1)
            assert "serves no obey API" in done.stderr, words
            assert "obey serve" not in done.stderr
        alone.socket.unlink()
        for words in (["ping"], ["session", "list"], ["session", "list", "--no-start"], ["stop"]):
            assert "serves no obey API" in alone.told(*words, code=1).stderr, words
