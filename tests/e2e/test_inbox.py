"""All open prompts of all sessions in one list."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.asking_commands import two_questions
from support.daemon.process import Daemon
from support.screens.prompt_cards import BASH, asking_daemon, asking_screen, asking_session, never_early, told

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with asking_daemon(tmp_path_factory.mktemp("inbox")) as daemon:
        yield daemon


async def test_prompts_of_other_sessions_are_answered_and_the_list_is_live(daemon: Daemon, tmp_path: Path) -> None:
    other = await asking_session(daemon, tmp_path / "other", "the flaky test")
    async with asking_screen(daemon, tmp_path / "here") as here:
        screen = here.screen
        await screen.press("ctrl+o")
        await screen.shows("No pending prompts")
        never_early(screen)
        await screen.client.send(other, BASH)
        await screen.shows("1 pending prompt", "the flaky te", "$ git push origin main", "y allow")
        await here.ask(f"use AskUserQuestion {two_questions(several=False)}")
        await screen.shows("2 pending prompts", "question Which colour? / Why?")
        await screen.press("n")
        await screen.shows("1 pending prompt", "▸1 red")
        await screen.press("2")
        await screen.shows("question 2 of 2", "1 of 2 answered")
        await screen.press("1")
        await screen.shows("No pending prompts")
        [answer] = await here.heard()
        assert answer["updatedInput"]["answers"] == {"Which colour?": "blue", "Why?": "red"}
        await screen.press("escape")
        await screen.hides("No pending prompts")


async def test_enter_goes_to_the_session_that_waits(daemon: Daemon, tmp_path: Path) -> None:
    other = await asking_session(daemon, tmp_path / "other", "the flaky test")
    async with asking_screen(daemon, tmp_path / "here") as here:
        await here.screen.client.send(other, BASH)
        await here.screen.press("ctrl+o")
        await here.screen.shows("1 pending prompt")
        await here.screen.press("enter")
        await here.screen.shows("Bash: push it", "connected")
        assert here.screen.app.session_id == other
        await here.screen.hides("Tab to answer")
        never_early(here.screen)
        await here.screen.press("y")
        await here.screen.hides("y allow")


async def test_it_is_usable_on_a_small_screen_and_removes_prompts_that_others_answer(
    daemon: Daemon, tmp_path: Path
) -> None:
    async with (
        asking_screen(daemon, tmp_path / "here", size=(40, 15)) as here,
        open_client(daemon.paths) as somebody,
    ):
        screen = here.screen
        await here.ask(BASH, 'and Bash {"command": "git fetch"}')
        await screen.press("ctrl+o")
        await screen.shows("2 pending prompts", "Bash git push", "y allow", "n deny", "Esc")
        never_early(screen)
        await screen.press("down")
        await screen.shows("$ git fetch", "2 of 2")
        [fetch] = [one for one in await somebody.pending() if "fetch" in one.permission.input_json]
        await somebody.answer_permission(fetch.request_id, v1.ALLOW_ONCE)
        await screen.shows("allowed: Bash", "1 pending prompt", "$ git push origin main")
        await screen.press("a")
        await screen.shows("Don't ask again")
        await screen.press("escape")
        await screen.shows("$ git push origin main")
        await screen.press("d", "n", "o", "enter")
        await screen.shows("No pending prompts")
        assert [told(one) for one in await here.heard(2)] == [("allow", ""), ("deny", "no")]
