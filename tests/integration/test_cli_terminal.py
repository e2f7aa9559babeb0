"""Commands on a terminal: output and typed input."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from support.processes.command import Shell, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("terminal")) as commands:
        yield commands


def ran(here: Shell) -> int:
    path = here.work / "ran.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_daemon_that_is_started_is_mentioned_in_one_line(tmp_path: Path) -> None:
    with shell(tmp_path) as here, here.terminal("run", "say hello") as person:
        person.expect("Starting the daemon")
        person.expect("hello")
        assert person.ended() == 0


def test_yes_runs_the_tool(here: Shell) -> None:
    before = ran(here)
    with here.terminal("run", "tool") as person:
        person.expect("Bash asks for permission: a mark")
        person.expect("command: touch ran.txt")
        person.expect("Allow? [y")
        person.type("perhaps\n")
        person.expect("Invalid answer: type y")
        assert ran(here) == before
        person.expect("Allow? [y")
        person.type("y\n")
        person.expect("ran")
        assert person.ended() == 0
    assert ran(here) == before + 1


@pytest.mark.behaviour("exit-code.3")
def test_no_does_not_run_it_and_the_agent_hears_why(here: Shell) -> None:
    before = ran(here)
    with here.terminal("run", "tool") as person:
        person.expect("Allow? [y")
        person.type("n use another file\n")
        person.expect("use another file")
        person.expect("denied")
        assert person.ended() == 3
    assert ran(here) == before


def test_a_question_is_answered_by_number(here: Shell) -> None:
    with here.terminal("run", "ask") as person:
        person.expect("Which colour?")
        person.expect("2. blue")
        person.expect("Your answer")
        person.type("2\n")
        person.expect('"Which colour?": "blue"')
        assert person.ended() == 0


@pytest.mark.behaviour("exit-code.3")
def test_a_prompt_that_someone_else_answers_is_withdrawn(here: Shell) -> None:
    with here.terminal("run", "tool") as person:
        session = person.expect("Allow? [y").split("Session ")[1].split()[0]
        assert here.run("attach", session, stdin="n not like this\n").returncode == 0
        person.expect("denied")
        assert person.ended() == 3  # whoever denied it


def test_escape_sequences_do_not_reach_the_terminal(here: Shell) -> None:
    with here.terminal("run", "say \x1b]0;owned\x07") as person:
        person.expect("␛]0;owned␇")
        assert person.ended() == 0
        assert "\x1b" not in person.seen


@pytest.mark.behaviour("cancel.rpc.interrupts")
def test_ctrl_c_interrupts_the_turn(here: Shell) -> None:
    with here.terminal("run", "wait never") as person:
        session = person.expect("waiting").split("Session ")[1].split()[0]
        person.interrupt()
        person.expect("Interrupting the turn")
        person.expect("The turn was cancelled")
        assert person.ended() == 130
    assert here.json("session", "show", "--json", session)["session"]["status"] == "idle"


def test_a_turn_that_someone_else_cancels_says_so(here: Shell) -> None:
    with here.terminal("run", "wait never") as person:
        session = person.expect("waiting").split("Session ")[1].split()[0]
        assert here.run("session", "cancel", session).returncode == 0
        person.expect("The turn was cancelled")
        assert person.ended() == 1


def test_ctrl_c_leaves_the_turn_running_when_the_daemon_does_not_answer_and_says_where(tmp_path: Path) -> None:
    with shell(tmp_path) as here, here.terminal("run", "wait never") as person:
        session = person.expect("waiting").split("Session ")[1].split()[0]
        here.daemon_signal("STOP")  # it cannot hear the first Ctrl-C
        person.interrupt()
        person.expect("Interrupting the turn")
        person.interrupt()
        person.expect("The daemon has not answered yet; Ctrl-C again exits and leaves the turn running")
        person.interrupt()
        person.expect(f"Detached; the turn is still running. Reattach with: betcode attach {session}")
        assert person.ended() == 130
        here.daemon_signal("CONT")
        assert here.json("session", "show", "--json", session)["session"]["status"] in ("active", "idle")


@pytest.mark.behaviour("cancel.rpc.interrupts")
@pytest.mark.parametrize("command", ["run", "attach"])
def test_two_interrupts_at_once_are_one(here: Shell, command: str) -> None:
    session = here.json("run", "--json", "say ready")["session_id"]
    arguments = ("run", "--session", session, "wait never") if command == "run" else ("attach", session)
    with here.terminal(*arguments) as person:
        if command == "attach":
            person.expect("> ")
            person.type("wait never\n")
        person.expect("waiting")
        here.daemon_signal("STOP")  # so that both are heard before the first is answered
        person.interrupt()
        person.expect("Interrupting the turn")
        person.interrupt()
        person.expect("has not answered yet")
        here.daemon_signal("CONT")
        person.expect("The turn was cancelled" if command == "run" else "── cancelled")
        if command == "attach":
            person.type("/quit\n")
        assert person.ended() == (130 if command == "run" else 0)
    assert here.json("session", "show", "--json", session)["session"]["status"] == "idle"


@pytest.mark.parametrize("command", ["run", "attach"])
def test_a_second_ctrl_c_detaches_from_a_stopping_turn_and_says_so(tmp_path: Path, command: str) -> None:
    with (
        shell(tmp_path, settings={"cancel": {"interrupt": "10m"}}) as here,
        here.terminal("run", "deaf\nwait never") as starter,
    ):
        session = starter.expect("waiting").split("Session ")[1].split()[0]
        with nullcontext(starter) if command == "run" else here.terminal("attach", session) as person:
            if command == "attach":
                person.expect("waiting")
            here.daemon_signal("STOP")
            person.interrupt()
            person.expect("Interrupting the turn")
            person.interrupt()
            person.expect("has not answered yet")
            here.daemon_signal("CONT")
            person.expect("The turn is being stopped; Ctrl-C again exits")
            person.interrupt()
            person.expect("Detached before the turn ended; a stop was requested. Reattach with: betcode attach")
            assert person.ended() == (130 if command == "run" else 0)


def test_a_conversation_shows_takes_and_answers(here: Shell) -> None:
    session = here.json("run", "--json", "say the beginning")["session_id"]
    with here.terminal("attach", session) as person:
        person.echo_off()
        person.expect("> say the beginning")
        person.expect("the beginning")
        person.type("say and more\n")
        person.expect("and more")
        person.expect("──")
        person.type("tool\n")
        person.expect("Allow? [y")
        person.type("not yet\n")
        person.expect("waits for an answer")
        person.type("y\n")
        person.expect("Allowed")
        person.expect("ran")
        person.expect("──")
        person.type("/quit\n")
        assert person.ended() == 0


def test_cancel_interrupts_from_a_conversation(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with here.terminal("attach", session) as person:
        person.echo_off()
        person.expect("── ")
        person.type("wait never\n")
        person.expect("waiting")
        person.type("/cancel\n")
        person.expect("── cancelled")
        person.type("\x04")
        assert person.ended() == 0


def test_ctrl_c_in_a_resting_conversation_leaves_it(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with here.terminal("attach", session) as person:
        person.expect("── ")
        person.interrupt()
        person.expect("Detached. Reattach with: betcode attach")
        assert person.ended() == 0


def test_two_people_see_the_same_conversation(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with here.terminal("attach", session) as one, here.terminal("attach", session) as other:
        one.echo_off()
        one.expect("── ")
        other.expect("── ")
        one.type("say from the first\n")
        other.expect("> say from the first")
        other.expect("from the first")
        one.expect("from the first")


def test_betcode_alone_continues_the_session_of_the_directory(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        with here.terminal() as person:
            person.echo_off()
            session = person.expect("Type a message").split("Session ")[1].split()[0]
            person.type("say first\n")
            person.expect("── ")
            person.type("/quit\n")
            assert person.ended() == 0
        with here.terminal() as person:
            person.echo_off()
            person.expect(f"Session {session}")
            person.expect("> say first")
            person.type("/new\n")
            assert session not in person.expect("Type a message")
            person.type("/quit\n")
            assert person.ended() == 0
        assert here.json("session", "list", "--json")["total"] == 2


@pytest.mark.behaviour("lifecycle.daemon.background-service")
def test_the_daemon_outlives_the_terminal_that_started_it(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        with here.terminal() as person:
            person.expect("Type a message")
        assert here.run("daemon", "status").returncode == 0


def test_output_during_a_question_starts_on_its_own_line(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with here.terminal("attach", session) as person:
        person.echo_off()
        person.expect("──")
        person.type("tool\n")
        person.expect("v = show all] ")
        assert here.run("attach", session, stdin="n not like this\n").returncode == 0
        assert person.expect("Denied: not like this").endswith("\n")
        person.type("/quit\n")
        person.expect(f"Detached. Reattach with: betcode attach {session}")
        assert person.ended() == 0


def test_a_resting_conversation_shows_where_to_type(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with here.terminal("attach", session) as person:
        person.expect("──")
        person.expect("\n> ")
        person.type("/help\n")
        shown = person.expect("/quit")
        assert "/compact" in shown
        assert max(map(len, shown.splitlines())) < 60
        person.expect("\n> ")
        person.type("/attach\n")
        person.expect("Give a file")
        person.expect("\n> ")
        person.type("ask\n")
        person.expect("Your answer")
        person.type("1\n")
        person.expect("Answered")
        person.expect("──")
        person.expect("\n> ")
        person.interrupt()
        assert person.expect("Detached.").endswith("\n")
        assert person.ended() == 0


def test_input_before_a_question_is_not_an_answer(here: Shell) -> None:
    before = ran(here)
    session = here.json("run", "--json", "say hi")["session_id"]
    with here.terminal("attach", session) as person:
        person.expect("\n> ")
        person.type("tool\ny")  # the second line is not ended when the question comes
        person.expect("v = show all] ")
        person.type("\n")
        person.expect("waits for an answer")
        assert ran(here) == before
        person.type("n\n")
        person.expect("Denied")
