"""Prompts on the screen, answered with keys; the answers reach real agents."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.tui.cards.card import Card
from betcode.tui.composer.composer import Composer
from betcode.tui.view.conversation_view import ConversationView
from betcode.v1 import agent_pb2 as v1
from support.daemon.asking_commands import two_questions
from support.daemon.process import Daemon
from support.screens.prompt_cards import BASH, asking_daemon, asking_screen, told

pytestmark = pytest.mark.anyio
OTHER = 'and Bash {"command": "git fetch"}'


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with asking_daemon(tmp_path_factory.mktemp("cards")) as daemon:
        yield daemon


async def test_one_key_allows_and_the_draft_has_the_focus_again(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH)
        await here.screen.shows("Bash: push it", "$ git push origin main", "y allow · a always")
        await here.screen.press("y")
        assert told((await here.heard())[0]) == ("allow", "")
        await here.screen.hides("y allow")
        assert isinstance(here.screen.app.focused, Composer)


async def test_a_denial_has_its_reason_and_another_one_stops_the_turn(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH, BASH)
        await here.screen.shows("d deny with reason")
        await here.screen.press("d")
        await here.screen.shows("Enter deny with this reason")
        await here.screen.type("no?")
        await here.screen.press("enter")
        assert told((await here.heard())[0]) == ("deny", "no?")
        await here.screen.shows("y allow")
        await here.screen.press("s")
        assert (await here.heard(2))[1]["interrupt"] is True


async def test_always_like_this_makes_the_grant_that_was_shown(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH, 'use Bash {"command": "ls /nowhere"}')
        await here.screen.shows("a always")
        await here.screen.press("a")
        await here.screen.shows("1  this command: Bash(git push origin main)", "t own pattern")
        await here.screen.press("1")
        await here.screen.shows("$ ls /nowhere")
        await here.screen.press("a", "t", "ctrl+u")
        await here.screen.type("Bash(ls *)")
        await here.screen.press("enter")
        await here.heard(2)
        granted = [one.pattern for one in await here.screen.client.grants.list(here.session_id)]
        assert granted == ["Bash(git push origin main)", "Bash(ls *)"]


async def test_the_agent_gets_the_edited_command(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH)
        await here.screen.shows("e edit")
        await here.screen.press("e")
        await here.screen.shows("Ctrl+S allow this input")
        await here.screen.press(*(["backspace"] * 4))
        await here.screen.type("x")
        await here.screen.press("ctrl+s")
        [answer] = await here.heard()
        assert answer["updatedInput"] == {"command": "git push origin x", "description": "push it"}


async def test_an_edit_without_a_required_field_is_not_sent(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH)
        await here.screen.shows("e edit")
        await here.screen.press("e", "ctrl+u", "enter")
        await here.screen.shows("The input has no command")
        await here.screen.press("escape")
        await here.screen.shows("y allow", "$ git push")
        await here.screen.press("n")
        assert told((await here.heard())[0])[0] == "deny"


async def test_an_escape_too_many_on_a_card_stops_nothing(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH)
        await here.screen.shows("y allow", "waiting for you")
        await here.screen.press("escape", "escape")
        await here.screen.notes_say("Press Esc again to interrupt the turn")
        await here.screen.shows("Tab to answer", "waiting for you")
        await here.screen.press("escape")
        await here.screen.hides("waiting for you")


async def test_questions_are_answered_one_after_the_other(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(f"use AskUserQuestion {two_questions(several=True)}")
        await here.screen.shows("question 1 of 2", "Colour: Which colour?", "▸1 ☐ red")
        await here.screen.press("space", "2", "enter")
        await here.screen.shows("question 2 of 2", "Reason: Why?")
        await here.screen.press("t")
        await here.screen.shows("Enter answer")
        await here.screen.type("sea")
        await here.screen.press("enter")
        [answer] = await here.heard()
        assert answer["updatedInput"]["answers"] == {"Which colour?": "red, blue", "Why?": "sea"}
        await here.screen.shows("Which colour?: Answered: red, blue", "Why?: Answered: sea")
        assert "red, blue; sea" not in here.screen.text


async def test_several_cards_are_counted_and_answered_in_any_order(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH, OTHER)
        await here.screen.shows("permission · 1 of 2", "git push")
        await here.screen.press("right")
        await here.screen.shows("permission · 2 of 2", "$ git fetch")
        await here.screen.press("n")
        await here.screen.shows("$ git push")
        await here.screen.hides("1 of 2")
        await here.screen.press("y")
        answers = await here.heard(2)
        assert [(one["input"]["command"], told(one)[0]) for one in answers] == [
            ("git fetch", "deny"),
            ("git push origin main", "allow"),
        ]


async def test_an_answer_of_another_client_closes_the_card_with_a_notice_and_loses_no_typing(
    daemon: Daemon, tmp_path: Path
) -> None:
    async with asking_screen(daemon, tmp_path) as here, open_client(daemon.paths) as other:
        await here.ask(BASH, BASH)
        await here.screen.shows("y allow")
        [waiting] = await other.pending(here.session_id)
        await other.answer_permission(waiting.request_id, v1.DENY, message="mine")
        await here.screen.shows("denied (mine): Bash git push origin main", "y allow")
        await here.screen.press("d")
        await here.screen.type("beca")
        [waiting] = await other.pending(here.session_id)
        await other.answer_permission(waiting.request_id, v1.ALLOW_ONCE)
        await here.screen.shows("allowed: Bash git push", "Enter or Esc: close")
        await here.screen.type("use")
        assert here.screen.app.screen.query_one(Composer).text == ""
        await here.screen.press("enter")
        await here.screen.hides("Esc: close")
        assert [told(one)[0] for one in await here.heard(2)] == ["deny", "allow"]


async def test_a_card_goes_from_every_screen_when_one_answers(daemon: Daemon, tmp_path: Path) -> None:
    async with (
        asking_screen(daemon, tmp_path) as one,
        asking_screen(daemon, tmp_path, one.session_id) as two,
    ):
        await one.ask(BASH)
        await one.screen.shows("y allow")
        await two.screen.shows("y allow")
        await two.screen.press("y")
        await one.screen.shows("allowed: Bash git push origin main")
        await one.screen.hides("y allow")
        assert len(await one.heard()) == 1


async def test_a_card_takes_no_focus_from_a_draft(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.screen.type("any")
        await here.ask(BASH)
        await here.screen.shows("Tab to answer: y allow")
        await here.screen.type("y")
        assert here.screen.app.screen.query_one(Composer).text == "anyy"
        await here.screen.press("tab")
        await here.screen.hides("Tab to answer")
        await here.screen.press("n")
        assert told((await here.heard())[0])[0] == "deny"


async def test_tab_goes_round_from_the_draft_by_the_card_to_the_conversation(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.screen.type("any")
        await here.ask(BASH)
        await here.screen.shows("Tab to answer: y allow")
        places = []
        for _ in range(4):
            await here.screen.press("tab")
            places.append(type(here.screen.app.focused))
        assert places == [Card, ConversationView, Composer, Card]


async def test_keys_that_came_before_it_could_be_read_answer_nothing(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        card = here.screen.app.screen.query_one(Card)
        card.clock = lambda: 7.0
        await here.ask(BASH)
        await here.screen.shows("y allow")
        await here.screen.press("y")
        await here.screen.shows("Press it again")
        assert len(await here.screen.client.pending(here.session_id)) == 1
        card.clock = lambda: 7.5
        await here.screen.press("n")
        assert told((await here.heard())[0])[0] == "deny"


async def test_a_hostile_input_is_shown_on_a_small_screen_and_not_obeyed(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path, size=(40, 15)) as here:
        await here.ask('use Bash {"command": "[red]\\u001b]0;owned\\u0007\\u202e' + "x" * 100_000 + '"}')
        text = await here.screen.shows("[red]␛]0;owned␇\\u202e", "y allow", "v details")
        assert len(text.split("\n")) == 15
        await here.screen.press("v", "pagedown")
        await here.screen.shows("xxxxxx", "v less")
        await here.screen.press("n")
        await here.heard()


async def test_an_answer_waits_for_a_daemon_that_was_killed(tmp_path: Path) -> None:
    async with asking_daemon(tmp_path) as daemon, asking_screen(daemon, tmp_path / "here") as here:
        await here.ask(BASH)
        await here.screen.shows("y allow")
        daemon.kill()
        await here.screen.shows("Connection lost: an answer is sent when it is back")
        await here.screen.press("y")
        await here.screen.shows("your answer is sent")
        await here.screen.press("n")
        await daemon.start()
        assert [told(one) for one in await here.heard()] == [("allow", "")]
        await here.screen.hides("your answer is sent")


async def test_an_answer_is_delivered_when_the_person_quits_at_once(tmp_path: Path) -> None:
    async with asking_daemon(tmp_path) as daemon:
        async with asking_screen(daemon, tmp_path / "here") as here:
            await here.ask(BASH)
            await here.screen.shows("y allow")
            os.kill(daemon.pid, signal.SIGSTOP)
            await here.screen.press("y")
            await here.screen.shows("Sending your answer")
            here.screen.app.exit()
            os.kill(daemon.pid, signal.SIGCONT)
        assert [told(one) for one in await here.heard()] == [("allow", "")]
