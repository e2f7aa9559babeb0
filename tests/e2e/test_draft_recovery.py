"""Drafts, queued messages and unsent messages are not lost."""

from collections.abc import AsyncIterator

import pytest
from textual import events

from betcode.client import Client
from betcode.tui.composer.composer import Composer
from support.daemon.process import Daemon, obedient_daemon
from support.screens.screen import ShownScreen, open_screen

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(
        tmp_path_factory.mktemp("kept"), settings={"agents": {"attachment_limit": 2000}}
    ) as running:
        yield running


def composer(screen: ShownScreen) -> Composer:
    return screen.app.screen.query_one(Composer)


async def send(screen: ShownScreen, text: str) -> None:
    composer(screen).load_text(text)
    await screen.press("enter")


async def times_said(client: Client, session_id: str, text: str) -> int:
    page = await client.read_events(session_id)
    return sum(event.user_input.content == text for event in page.events)


async def test_a_draft_is_there_again_after_screen_and_daemon_were_restarted(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        session_id = screen.app.session_id
        await screen.type("half\na")
        screen.app.post_message(events.Paste("words\n" * 12))
        await screen.shows("pasted text 1: 12 lines")
    await daemon.restart()
    async with open_screen(daemon, session_id) as screen:
        await screen.shows("half", "pasted text 1: 12 lines")
        assert composer(screen).draft.files[0].data == b"words\n" * 12
        async with open_screen(daemon) as other:
            await other.shows("connected")
            assert not composer(other).has_draft


async def test_a_message_that_waits_is_shown_and_can_be_changed(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await screen.shows("connected")
        await send(screen, "wait go")
        await screen.shows("working")
        await send(screen, "say second")
        await screen.shows("say second · queued for after")
        await screen.press("up")
        await screen.shows("Enter: edit")
        await screen.press("enter")
        await screen.hides("queued for after")
        assert composer(screen).text == "say second"
        await screen.press("s", "enter")
        await screen.shows("say seconds · queued for after")
        (daemon.work / "go").write_text("")
        await screen.shows("> say seconds", "idle")
        assert await times_said(screen.client, screen.app.session_id, "say seconds") == 1
        await screen.hides("· queued for after")


async def test_a_message_sent_while_the_daemon_is_dead_arrives_once(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        session_id = screen.app.session_id
        daemon.kill()
        await screen.hides("connected ·")
        await send(screen, "say later")
        await screen.shows("say later · not sent yet: no connection")
        await send(screen, "say never")
        await screen.shows("say never · not sent yet")
        await screen.press("up", "enter")
        await screen.hides("say never ·")
        assert composer(screen).text == "say never"  # it was not tried, so it can be had back
    await daemon.start()
    async with open_screen(daemon, session_id) as screen, open_screen(daemon, session_id) as other:
        for each in (screen, other):
            await each.shows("> say later")
            await each.hides("not sent yet")
        assert composer(screen).text == "say never"
        assert await times_said(screen.client, session_id, "say later") == 1
        assert await times_said(screen.client, session_id, "say never") == 0


async def test_a_message_is_sent_when_the_person_quits_at_once(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        session_id = screen.app.session_id
        composer(screen).load_text("say bye")
        composer(screen).post_message(events.Key("enter", "\r"))
        composer(screen).call_next(screen.app.exit)
    async with open_screen(daemon, session_id) as screen:
        await screen.shows("> say bye")
        assert await times_said(screen.client, session_id, "say bye") == 1
        assert not composer(screen).has_draft


async def test_a_refused_message_returns_to_the_draft(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        screen.app.post_message(events.Paste("x" * 3000))
        await screen.shows("pasted text 1")
        await screen.press("w", "enter")
        await screen.notes_say("Not sent")
        assert composer(screen).text == "w"
        assert len(composer(screen).draft.files) == 1
